/** One load, and who is put under it. */
export interface Scenario {
  readonly name: string;
  readonly contenders: readonly ContenderName[];
  readonly connections: number;
  readonly bodies: readonly string[];
  readonly seconds: number;
}

/** "direct": the engine itself. Those in brackets are llmgw without something of it, or with more of it. */
export type ContenderName =
  | "direct"
  | "haproxy"
  | "nginx"
  | "llmgw"
  | "portkey"
  | "portkey (llmgw's Node)"
  | "litellm"
  | "llmgw (2 workers)"
  | "llmgw (1000 replicas, 10000 keys)"
  | "llmgw (no keys, no limits)"
  | "llmgw (no prefix affinity)"
  | "llmgw (no access log)"
  | "llmgw (streams not counted)"
  | "llmgw (no rescue)";

const WORDS = "The quick brown fox jumps over the lazy dog and thinks about what it has seen on the other side. ";
/** As many conversations as take turns. */
const CONVERSATIONS = 128;

interface Prompt {
  readonly model: string;
  readonly bytes: number;
  /** Fields that come before the messages. */
  readonly first?: string;
  readonly conversations?: number;
}

/** Requests of the same length, each of a conversation of its own behind a system prompt that all share. */
function chats({ model, bytes, first = "", conversations = CONVERSATIONS }: Prompt): readonly string[] {
  return Array.from({ length: conversations }, (_, n) => {
    const begin = `{"model":"${model}",${first}"max_tokens":16,"messages":[{"role":"system","content":"You are brief."},{"role":"user","content":"${String(n).padStart(6, "0")} `;
    const end = '"}]}';
    const text = WORDS.repeat(Math.ceil(bytes / WORDS.length)).slice(0, bytes - begin.length - end.length);
    return begin + text + end;
  });
}

const streamed = (pace: number, events: number): string =>
  `"stream":true,"pace":${String(pace)},"events":${String(events)},`;

const PROXIES = ["direct", "haproxy", "nginx", "llmgw"] as const;

export const REQUESTS = "64 connections, 1 KB";
export const LARGE = "64 connections, 32 KB";
export const STREAMS = "200 streams, 10 ms";
export const ALONE = "1 connection, 1 KB";
export const KB_64 = "4 connections, 64 KB";
export const MB_1 = "4 connections, 1 MB";

/** `share`: of the usual time that each takes. */
export function syntheticScenarios(model: string, share: number): readonly Scenario[] {
  const kb = chats({ model, bytes: 1_000 });
  const stream = chats({ model, bytes: 1_000, first: streamed(10, 64) });
  return [
    {
      name: REQUESTS,
      contenders: [
        ...PROXIES,
        "llmgw (2 workers)",
        "llmgw (1000 replicas, 10000 keys)",
        "llmgw (no keys, no limits)",
        "llmgw (no prefix affinity)",
        "llmgw (no access log)",
        "portkey",
        "portkey (llmgw's Node)",
        "litellm",
      ],
      connections: 64,
      bodies: kb,
      seconds: 2 * share,
    },
    {
      name: STREAMS,
      contenders: [...PROXIES, "llmgw (streams not counted)", "llmgw (no rescue)"],
      connections: 200,
      bodies: stream,
      seconds: 3 * share,
    },
    { name: ALONE, contenders: PROXIES, connections: 1, bodies: kb, seconds: 1.5 * share },
    {
      name: LARGE,
      contenders: PROXIES,
      connections: 64,
      bodies: chats({ model, bytes: 32_000 }),
      seconds: 2 * share,
    },
    {
      name: KB_64,
      contenders: ["haproxy", "llmgw"],
      connections: 4,
      bodies: chats({ model, bytes: 64 * 1024, conversations: 16 }),
      seconds: share,
    },
    {
      name: MB_1,
      contenders: ["haproxy", "llmgw"],
      connections: 4,
      bodies: chats({ model, bytes: 1024 * 1024, conversations: 8 }),
      seconds: 1.5 * share,
    },
  ];
}

/** A real engine answers so slowly that only times tell anything. */
export function realScenarios(model: string): readonly Scenario[] {
  const contenders = ["direct", "haproxy", "llmgw"] as const;
  const plain = chats({ model, bytes: 400 });
  const stream = chats({ model, bytes: 400, first: '"stream":true,' });
  const seconds = 4;
  return [
    { name: "1 connection", contenders, connections: 1, bodies: plain, seconds },
    { name: "1 stream", contenders, connections: 1, bodies: stream, seconds },
    { name: "4 streams", contenders, connections: 4, bodies: stream, seconds },
  ];
}

export const IDLE_EVENTS = 25;
/** An event a second, long enough for all to be open before the first ends. */
export const idleStreams = (model: string): readonly string[] =>
  chats({ model, bytes: 1_000, first: streamed(1_000, IDLE_EVENTS) });
