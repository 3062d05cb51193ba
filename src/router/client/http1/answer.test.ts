import { describe, expect, test } from "vitest";
import { answering, Http1Line, Waiting } from "../../../../test/fakes/http1-line.ts";

const GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4);

describe("an answer", () => {
  const LARGE = "z".repeat(20_000);

  test.each<[name: string, pieces: readonly (string | Buffer)[], want: string]>([
    ["is one chunk a write", ["ab", "c", ""], "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"],
    ["ends with its last bytes", ["ab", "cd"], "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"],
    ["does not end with no bytes", ["", "ab", "", ""], "2\r\nab\r\n0\r\n\r\n"],
    ["counts bytes, not characters", ["\u00e9"], "2\r\n\xc3\xa9\r\n0\r\n\r\n"],
    ["keeps every byte", [Buffer.from([0, 0xff, 0x80])], "3\r\n\x00\xff\x80\r\n0\r\n\r\n"],
    [
      "may have large pieces among small",
      ["a", LARGE, "b", LARGE],
      `1\r\na\r\n4e20\r\n${LARGE}\r\n1\r\nb\r\n4e20\r\n${LARGE}\r\n0\r\n\r\n`,
    ],
    ["may be empty", [""], "0\r\n\r\n"],
  ])("without a length %s", async (_name, pieces, want) => {
    const { line } = await Http1Line.open(answering(...pieces));
    await line.send(GET);
    expect(line.written).toContain("Transfer-Encoding: chunked\r\n");
    expect(bodyOf(line.written)).toBe(want);
  });

  test("that is there at once is one write, a large one too", async () => {
    for (const body of ["ok", LARGE]) {
      const { line } = await Http1Line.open(answering(body));
      await line.send(GET);
      expect(line.writes).toHaveLength(1);
    }
  });

  test("whose head is to go out alone goes out so, once", async () => {
    const opened = await Http1Line.open(({ res }) => {
      res.writeHead(200, ["content-length", "2"]);
      res.flushHeaders();
      res.flushHeaders();
      return undefined;
    });
    await opened.line.send(GET);
    expect(bodyOf(opened.line.written)).toBe("");
    opened.requests[0]?.res.end("ok");
    await opened.line.send("");
    expect(opened.line.writes).toHaveLength(2);
    expect(bodyOf(opened.line.written)).toBe("ok");
  });

  test("has no body for HEAD", async () => {
    const { line } = await Http1Line.open(answering("ab", "c"));
    await line.send(GET.replace("GET", "HEAD"));
    expect(bodyOf(line.written)).toBe("");
  });

  test("in HTTP/1.0 goes out as it is and ends with the connection", async () => {
    const { line } = await Http1Line.open(answering("ab", "c"));
    await line.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect(line.written).toMatch(/Connection: close\r\n\r\nabc$/);
    expect(line.destroyed).toBe(true);
  });

  test("for a client that does not read says so, and when it reads again", async () => {
    const opened = await Http1Line.open(new Waiting().take);
    opened.line.isHeld = true;
    await opened.line.send(GET);
    const res = opened.requests[0]?.res;
    res?.writeHead(200, []);
    while (res?.write("x".repeat(5_000)) === true) await opened.line.send("");
    expect(res?.writableNeedDrain).toBe(true);
    const drained = new Promise<void>((resolve) => res?.once("drain", resolve));
    opened.line.letGo();
    await drained;
    expect(res?.writableNeedDrain).toBe(false);
  });
});
