import { countOf, type Fields, fieldsOf, isFields, listOf, parseJson, textOf } from "../../wire/json-value.ts";
import type { SseEvent } from "../../wire/sse/splitter.ts";
import { type EventReader, isEmpty, type Told } from "./said.ts";

/** Reads chunks of chat and of completions, and what a client knows of their answer by them. */
export class ChatReader implements EventReader {
  /** The first chunk; undefined: none has come. */
  first: Fields | undefined;
  /** The choices whose role the client knows. */
  readonly roles = new Set<number>();

  read({ data }: SseEvent): Told {
    const chunk = parseJson(data);
    if (!isFields(chunk)) return { problem: data === "[DONE]" ? "it was at its end" : "an event of it was no JSON" };
    if (!isEmpty(chunk["error"])) return { problem: "the engine had told of an error" };
    this.first ??= chunk;
    const told = listOf(chunk["choices"]).map((choice) => this.#choice(fieldsOf(choice)));
    return {
      text: told.map(({ text = "" }) => text).join(""),
      counted:
        countOf(fieldsOf(chunk["usage"])["completion_tokens"]) ?? countOf(fieldsOf(chunk["timings"])["predicted_n"]),
      problem: told.findLast(({ problem }) => problem !== undefined)?.problem,
    };
  }

  #choice(choice: Fields): Told {
    const index = countOf(choice["index"]) ?? 0;
    const delta = fieldsOf(choice["delta"]);
    if ("role" in delta) this.roles.add(index);
    const text = textOf(choice["text"]) + textOf(delta["content"]);
    return { text, problem: problemOf(choice, delta, { isOther: text !== "" && index !== 0 }) };
  }
}

function problemOf(choice: Fields, delta: Fields, { isOther }: { readonly isOther: boolean }): string | undefined {
  if (!isEmpty(choice["finish_reason"])) return "it was at its end";
  if (!isEmpty(choice["logprobs"])) return "it told the tokens' probabilities";
  if (isOther) return "it was of several answers";
  const begun = Object.keys(delta).find((name) => name !== "role" && name !== "content" && !isEmpty(delta[name]));
  return begun === undefined ? undefined : `its ${begun} had begun`;
}
