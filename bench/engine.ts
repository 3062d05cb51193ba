// A synthetic engine in a process of its own, so fast that what is measured in front of it is not it. It answers a request
// with 600 bytes of JSON; one that asks for a stream with 64 events of about 200 bytes, at once or one every "pace" ms.
import { createServer, type Socket } from "node:net";

const EVENTS = 64;

const content = "x".repeat(420);
const body = `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"${content}"}}],"usage":{"prompt_tokens":200,"completion_tokens":100,"total_tokens":300}}`;
const whole = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
);

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const event = chunk(
  `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${"y".repeat(80)}"},"finish_reason":null}]}\n\n`,
);
const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const tail = `${chunk('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n')}${chunk("data: [DONE]\n\n")}0\r\n\r\n`;
const flood = Buffer.from(head + event.repeat(EVENTS) + tail);

function answer(socket: Socket, request: string): void {
  if (!request.includes('"stream":true')) {
    socket.write(whole);
    return;
  }
  const pace = Number(/"pace":(\d+)/.exec(request)?.[1] ?? 0);
  if (pace === 0) {
    socket.write(flood);
    return;
  }
  let sent = 0;
  socket.write(head);
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else if (sent++ < EVENTS) socket.write(event);
    else {
      clearInterval(timer);
      socket.write(tail);
    }
  }, pace);
}

const server = createServer({ noDelay: true }, (socket) => {
  let received = "";
  socket.setEncoding("latin1");
  socket.on("error", () => socket.destroy());
  socket.on("data", (data: string) => {
    received += data;
    for (;;) {
      const end = received.indexOf("\r\n\r\n");
      if (end === -1) return;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      answer(socket, received.slice(0, end + 4 + length));
      received = received.slice(end + 4 + length);
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.({ port: address !== null && typeof address === "object" ? address.port : 0 });
});
process.on("disconnect", () => {
  process.exit(0);
});
