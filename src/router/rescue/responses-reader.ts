import { err, ok, type Result } from "../../core/result.ts";
import type { Begun } from "../../wire/chat/speaker.ts";
import { countOf, fieldsOf, type Fields, isFields, parseJson, textOf } from "../../wire/json-value.ts";
import type { SseEvent } from "../../wire/sse/splitter.ts";
import { type EventReader, isEmpty, type Told } from "./said.ts";

/** Reads the events of Responses: an answer of one message can be gone on with while its text is open. */
export class ResponsesReader implements EventReader {
  /** As the last event with one has it. */
  #response: Fields | undefined;
  #itemId: string | undefined;
  #isOpen = false;
  #next = 0;

  read({ data }: SseEvent): Told {
    const event = parseJson(data);
    if (!isFields(event)) return { problem: data === "[DONE]" ? "it was at its end" : "an event of it was no JSON" };
    const sequence = countOf(event["sequence_number"]);
    if (sequence === undefined) return { problem: "its events were not numbered" };
    this.#next = sequence + 1;
    switch (event["type"]) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        this.#response = fieldsOf(event["response"]);
        return {};
      case "response.output_item.added":
        return this.#add(event);
      case "response.content_part.added":
        return this.#open(event);
      case "response.output_text.delta":
        return this.#say(event);
      default:
        return { problem: `its ${textOf(event["type"])} had come` };
    }
  }

  #add({ output_index: index, item }: Fields): Told {
    const { type, id } = fieldsOf(item);
    if (index !== 0 || type !== "message") return { problem: `its ${textOf(type)} had begun` };
    this.#itemId = textOf(id);
    return {};
  }

  #open({ content_index: index, part }: Fields): Told {
    const { type, text } = fieldsOf(part);
    if (index !== 0 || type !== "output_text") return { problem: `its ${textOf(type)} had begun` };
    this.#isOpen = true;
    return { text: textOf(text) };
  }

  #say({ delta, logprobs }: Fields): Told {
    if (!this.#isOpen) return { problem: "its text had no place" };
    return { text: textOf(delta), problem: isEmpty(logprobs) ? undefined : "it told the tokens' probabilities" };
  }

  /** What the client has, beside that text; undefined: nothing. */
  begun(text: string): Result<Begun | undefined, string> {
    if (this.#response === undefined) return ok(undefined);
    if (this.#itemId !== undefined && !this.#isOpen) return err("its text was about to begin");
    const part = { response: this.#response, itemId: this.#itemId, sequence: this.#next };
    return ok({ text: this.#isOpen ? text : undefined, part });
  }
}
