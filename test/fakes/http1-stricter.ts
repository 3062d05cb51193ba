const get = (...lines: readonly string[]): string => `GET / HTTP/1.1\r\nHost: x\r\n${lines.join("\r\n")}\r\n\r\n`;
const line = (first: string): string => `${first}\r\nHost: x\r\n\r\n`;
const chunks = (text: string): string => `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${text}`;

/** Where the router's own reader of HTTP/1.1 refuses what Node's takes: its words for a log, and what a client sends there. */
export const STRICTER: Readonly<Record<string, readonly string[]>> = {
  // A carriage return alone, or a line feed alone, before the first line.
  "a character is none that a head may hold": ["\rGET / HTTP/1.1\r\n"],
  "its method is none": [`\r${line("GET / HTTP/1.1")}`, `\n${line("GET / HTTP/1.1")}`],
  "its first line is no HTTP/1.1": [
    line("GET / HTTP/2.0"),
    line("GET / HTTP/0.9"),
    line("OPTIONS *HTTP/1.1"),
    line("OPTIONS http://a.example"),
  ],
  "its target is malformed": [
    line("GET  / HTTP/1.1"),
    line("GET /  HTTP/1.1"),
    line("GET http:// HTTP/1.1"),
    line("GET ftp://a/ HTTP/1.1"),
    line("GET http://a@b/ HTTP/1.1"),
    line("GET http://a,b/ HTTP/1.1"),
  ],
  "it names no host": ["GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"],
  "it names host twice": [get("Host: x"), get("host: y")],
  "it names transfer-encoding twice": [get("Transfer-Encoding: identity", "Transfer-Encoding: chunked")],
  "its transfer coding is not chunked": [
    get("Transfer-Encoding: gzip, chunked"),
    get("Transfer-Encoding: identity"),
    get("Transfer-Encoding: xchunked"),
  ],
  "it is chunked in HTTP/1.0": ["POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  "its length is no number": [get("Content-Length: 9007199254740993"), get("Content-Length: 0000000000000000")],
  "its head is over the limit": [get(`X: ${"x".repeat(2_030)}`)],
  "its body is not in chunks as it says": [
    // What would change how the message is read had it been said in its head.
    chunks("0\r\nConnection: close\r\n\r\n"),
    chunks("0\r\nHost: y\r\n\r\n"),
    // Escapes, and names that are left out, in what nobody uses.
    chunks('0;a="\\""\r\n\r\n'),
    chunks("0;=b\r\n\r\n"),
    chunks("0;a=\r\n\r\n"),
    chunks("0000000000000\r\n\r\n"),
  ],
};
