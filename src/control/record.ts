import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { ADMIN_CALLS, type Order } from "./access.ts";
import { callerInWords } from "./caller.ts";
import type { ControlPlane } from "./control-plane.ts";

type Recorder = (request: MessageShape<DescMessage>, answer: MessageShape<DescMessage>) => readonly Order[];

/** Notes every order that was carried out, with who gave it and from where. */
export const recording =
  ({ loop }: Pick<ControlPlane, "loop">): Interceptor =>
  (next) =>
  async (request) => {
    const answer = await next(request);
    const record = recorderOf(request.method.localName);
    if (record === undefined || request.stream || answer.stream) return answer;
    const who = callerInWords({ values: request.contextValues });
    for (const { subjectKind, subject, words } of record(request.message, answer.message)) {
      loop.report({ level: "info", subjectKind, subject, reason: "Ordered", message: `${who}: ${words}` });
    }
    return answer;
  };

function recorderOf(method: string): Recorder | undefined {
  const calls: Readonly<Record<string, { readonly record: unknown }>> = ADMIN_CALLS;
  const record = calls[method]?.record;
  // Its row is typed by this very method's messages.
  return typeof record === "function" ? (record as Recorder) : undefined;
}
