import { ok, type Result } from "../../core/result.ts";
import { messageOf, MessagesSpeaker } from "../../wire/anthropic/answer.ts";
import { chatFromMessages } from "../../wire/anthropic/request.ts";
import type { ChatDialect } from "../../wire/chat/ask.ts";
import type { Begun, Speaker, WholeAnswer } from "../../wire/chat/speaker.ts";
import { ChatStream } from "../../wire/chat/stream.ts";
import { readWholeAnswer } from "../../wire/chat/whole.ts";
import type { Fields } from "../../wire/json-value.ts";
import { responseOf } from "../../wire/responses/answer.ts";
import { chatFromResponses } from "../../wire/responses/request.ts";
import { ResponsesSpeaker } from "../../wire/responses/stream.ts";
import type { Refusal } from "../error-body.ts";
import { type EngineAsk, jsonBody, type Rewrite } from "./ask.ts";
import { type Asker, mendError, mendingErrors, unusable } from "./errors.ts";

/** A client's request for which its engine has no words of its own. */
export interface Foreign {
  readonly asker: Asker;
  readonly body: Fields;
  readonly dialect: ChatDialect;
}

export type Translation = (foreign: Foreign) => Result<EngineAsk, Refusal>;

/** Messages, asked as chat. */
export const messagesByChat: Translation = ({ asker, body, dialect }) => {
  const chat = chatFromMessages(body, dialect);
  if (!chat.ok) return chat;
  const ask = { ...chat.value.ask, requestId: asker.requestId };
  const compose = (answer: WholeAnswer): Fields => messageOf(answer, ask);
  return ok(chatAsk(chat.value.body, { asker, speaker: () => new MessagesSpeaker(ask), compose }));
};

/** Responses, asked as chat. */
export const responsesByChat: Translation = ({ asker, body, dialect }) => {
  const chat = chatFromResponses(body, dialect);
  if (!chat.ok) return chat;
  const { ask } = chat.value;
  const compose = (answer: WholeAnswer): Fields => responseOf(answer, ask);
  return ok(chatAsk(chat.value.body, { asker, speaker: (begun) => new ResponsesSpeaker(ask, begun?.part), compose }));
};

interface Words {
  readonly asker: Asker;
  readonly speaker: (begun: Begun | undefined) => Speaker;
  readonly compose: (answer: WholeAnswer) => Fields;
}

function chatAsk(body: Fields, { asker, speaker, compose }: Words): EngineAsk {
  return {
    target: "/v1/chat/completions",
    body: jsonBody(body),
    rewrite: ({ status, isStream, begun }) => {
      if (status >= 400) return mendingErrors(asker);
      return isStream ? { kind: "events", stream: new ChatStream(speaker(begun), begun) } : composed(asker, compose);
    },
  };
}

const composed = (asker: Asker, compose: Words["compose"]): Rewrite => ({
  kind: "whole",
  read: (answer) => {
    const whole = readWholeAnswer(answer.body);
    if (whole === undefined) {
      // Some engines report what went wrong in a 200.
      const mended = mendError({ ...answer, status: 502 }, asker);
      return mended.kind === "answer" ? mended : unusable(asker, "it is no answer of a chat");
    }
    return { kind: "answer", status: 200, body: JSON.stringify(compose(whole)) };
  },
});
