import { countOf, type Fields, fieldsOf, isList, parseJson } from "../../wire/json-value.ts";
import { type EngineAnswer, type EngineAsk, jsonBody, type Rewrite, type Rewritten } from "./ask.ts";
import { type Asker, mendError, unusable } from "./errors.ts";

/** A question for the length of a prompt. */
export interface CountQuestion {
  readonly asker: Asker;
  /** The request as chat asks it. */
  readonly chat: Fields;
  /** What its client is told. */
  readonly answer: (tokens: number) => Fields;
}

/** Where the tokenizer takes messages itself. */
export function countOfChat({ asker, chat, answer }: CountQuestion): EngineAsk {
  const { model, messages, tools, chat_template_kwargs: settings } = chat;
  const body = { model, messages, tools, chat_template_kwargs: settings, add_generation_prompt: true };
  return { target: "/tokenize", body: jsonBody(body), rewrite: () => counted(asker, answer) };
}

/** Where the prompt has to be made first. */
export function countOfPrompt({ asker, chat, answer }: CountQuestion): EngineAsk {
  const { messages, tools, chat_template_kwargs: settings } = chat;
  const read = (made: EngineAnswer): Rewritten => {
    if (made.status !== 200) return mendError(made, asker);
    const { prompt } = fieldsOf(parseJson(made.body));
    if (typeof prompt !== "string") return unusable(asker, "no prompt came of its template");
    // The engine takes the begin of the text off what its template makes, and puts it before the tokens where there is one.
    const body = jsonBody({ content: prompt, add_special: true, parse_special: true });
    return { kind: "ask", ask: { target: "/tokenize", body, rewrite: () => counted(asker, answer) } };
  };
  const body = jsonBody({ messages, tools, chat_template_kwargs: settings });
  return { target: "/apply-template", body, rewrite: () => ({ kind: "whole", read }) };
}

const counted = (asker: Asker, answer: CountQuestion["answer"]): Rewrite => ({
  kind: "whole",
  read: (tokens) => {
    if (tokens.status !== 200) return mendError(tokens, asker);
    const { count, tokens: list } = fieldsOf(parseJson(tokens.body));
    const total = countOf(count) ?? (isList(list) ? list.length : undefined);
    if (total === undefined) return unusable(asker, "its tokenizer told no tokens");
    return { kind: "answer", status: 200, body: JSON.stringify(answer(total)) };
  },
});
