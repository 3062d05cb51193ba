import { ok, type Result } from "../../core/result.ts";
import type { Begun } from "../../wire/chat/speaker.ts";
import { fieldsOf, type Fields, isFields, parseJson, textOf } from "../../wire/json-value.ts";
import type { SseEvent } from "../../wire/sse/splitter.ts";
import type { EventReader, Told } from "./said.ts";

/** Reads the events of Messages: an answer of one block of text can be gone on with while that is open. */
export class MessagesReader implements EventReader {
  #hasBegun = false;
  #isOpen = false;

  read({ data }: SseEvent): Told {
    const event = parseJson(data);
    if (!isFields(event)) return { problem: "an event of it was no JSON" };
    switch (event["type"]) {
      case "ping":
        return {};
      case "message_start":
        this.#hasBegun = true;
        return {};
      case "content_block_start":
        return this.#start(event);
      case "content_block_delta":
        return deltaOf(fieldsOf(event["delta"]));
      case "content_block_stop":
        return { problem: "its text had ended" };
      case "message_delta":
      case "message_stop":
        return { problem: "it was at its end" };
      case "error":
        return { problem: "the engine had told of an error" };
      default:
        return { problem: `its ${textOf(event["type"])} is not known` };
    }
  }

  #start({ index, content_block: block }: Fields): Told {
    const { type, text } = fieldsOf(block);
    if (index !== 0 || type !== "text") return { problem: `its ${textOf(type)} had begun` };
    this.#isOpen = true;
    return { text: textOf(text) };
  }

  /** What the client has, beside that text; undefined: nothing. */
  begun(text: string): Result<Begun | undefined, string> {
    return ok(this.#hasBegun ? { text: this.#isOpen ? text : undefined } : undefined);
  }
}

function deltaOf({ type, text }: Fields): Told {
  return type === "text_delta" ? { text: textOf(text) } : { problem: `its ${textOf(type)} had begun` };
}
