/** The data of each event of an event stream, whatever the line ends and wherever the chunks were cut. */
export async function* sseData(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  let data: string[] = [];
  for await (const chunk of chunks) {
    // A lone CR ends a line too, but not when the LF that belongs to it is still on its way.
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      if (line !== "" || data.length === 0) continue;
      yield data.join("\n");
      data = [];
    }
  }
  // An event without its blank line was cut off: it is not complete and is left out.
  return undefined;
}
