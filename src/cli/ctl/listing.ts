import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { systemClock } from "../../platform/clock.ts";
import type { AdminClient } from "../../run/client.ts";
import type { Call } from "../command.ts";
import { coloursFor, widthOf } from "../io.ts";
import type { Looking } from "../render/columns.ts";
import { type Column, rowKey, table, type TableLook } from "../render/table.ts";
import { oneLine } from "../render/text.ts";
import { isDocument, outputOf, plain, printDocument, printObject } from "./output.ts";
import { drawAgain, isDrawn, logAgain } from "./watch.ts";

/** A verb that shows a list: what to ask for and how a row looks. */
export interface Listing<R extends DescMessage, T extends DescMessage> {
  readonly answer: R;
  readonly item: T;
  readonly ask: (client: AdminClient, signal: AbortSignal) => Promise<MessageShape<R>>;
  readonly rows: (answer: MessageShape<R>) => readonly MessageShape<T>[];
  readonly columns: (looking: Looking) => readonly Column<MessageShape<T>>[];
  /** "node/gpu-a-01": what -o name prints and other verbs take. */
  readonly name: (row: MessageShape<T>) => string;
  /** What has to be known first, told on stderr beside a table and above one that is drawn again; "" nothing. */
  readonly notice?: (answer: MessageShape<R>) => string;
  /** Told on stderr when there is nothing to list. */
  readonly empty: string;
}

export async function showList<R extends DescMessage, T extends DescMessage>(
  call: Call,
  client: AdminClient,
  listing: Listing<R, T>,
): Promise<number> {
  if (call.flags.given("watch")) return watchList(call, client, listing);
  const output = outputOf(call);
  const answer = await listing.ask(client, new AbortController().signal);
  if (isDocument(output)) {
    printDocument(call, output, plain(listing.answer, answer));
    return 0;
  }
  const rows = listing.rows(answer);
  call.io.stderr.write(noticeOf(listing, answer));
  if (output === "name") call.io.stdout.write(rows.map((row) => `${listing.name(row)}\n`).join(""));
  else if (rows.length === 0) call.io.stderr.write(`${listing.empty}\n`);
  else call.io.stdout.write(table(listing.columns(lookingNow(call)), rows, lookOf(call)));
  return 0;
}

/** As a line of its own. */
function noticeOf<R extends DescMessage, T extends DescMessage>(
  { notice = () => "" }: Listing<R, T>,
  answer: MessageShape<R>,
): string {
  return noticeLine(notice(answer));
}

export const noticeLine = (notice: string): string => (notice === "" ? "" : `! ${oneLine(notice)}\n`);

export const lookingNow = (call: Call): Looking => ({
  now: call.io.now?.() ?? systemClock.now(),
  colours: coloursFor(call.io.stdout, call.io.env),
  width: widthOf(call.io.stdout),
});

export const lookOf = (call: Call): TableLook => ({
  width: widthOf(call.io.stdout),
  colours: coloursFor(call.io.stdout, call.io.env),
  wide: outputOf(call) === "wide",
});

/** On a terminal the table as it is, drawn over itself; else the rows that are new or say something else than before. */
async function watchList<R extends DescMessage, T extends DescMessage>(
  call: Call,
  client: AdminClient,
  listing: Listing<R, T>,
): Promise<number> {
  const ask = (signal: AbortSignal): Promise<MessageShape<R>> => listing.ask(client, signal);
  if (isDrawn(call)) {
    const page = (answer: MessageShape<R>): string => {
      const rows = listing.rows(answer);
      const list =
        rows.length === 0 ? `${listing.empty}\n` : table(listing.columns(lookingNow(call)), rows, lookOf(call));
      return `${noticeOf(listing, answer)}${list}`;
    };
    return drawAgain(call, { ask, page });
  }
  let before: ReadonlyMap<string, string> | undefined;
  return logAgain(call, ask, (answer) => {
    const rows = listing.rows(answer);
    const columns = listing.columns(lookingNow(call));
    const seen = new Map(rows.map((row) => [listing.name(row), rowKey(columns, row)]));
    const news = rows.filter((row) => before?.get(listing.name(row)) !== seen.get(listing.name(row)));
    const gone = [...(before?.keys() ?? [])].filter((name) => !seen.has(name));
    if (before === undefined || news.length > 0 || gone.length > 0) {
      printNews(call, listing, { news, gone, isFirst: before === undefined });
    }
    before = seen;
  });
}

interface News<Row> {
  readonly news: readonly Row[];
  readonly gone: readonly string[];
  readonly isFirst: boolean;
}

export function printNews<R extends DescMessage, T extends DescMessage>(
  call: Call,
  listing: Listing<R, T>,
  { news, gone, isFirst }: News<MessageShape<T>>,
): void {
  const output = outputOf(call);
  const write = (text: string): unknown => call.io.stdout.write(text);
  if (isDocument(output)) {
    const values = [...news.map((row) => plain(listing.item, row)), ...gone.map((name) => ({ gone: name }))];
    for (const value of values) printObject(call, output, value);
    return;
  }
  if (output === "name") {
    for (const row of news) write(`${listing.name(row)}\n`);
    return;
  }
  const text = table(listing.columns(lookingNow(call)), news, lookOf(call));
  // Later rows go below the first header, as in a log.
  write(isFirst ? text : text.slice(text.indexOf("\n") + 1));
  for (const name of gone) write(`${name}  gone\n`);
}
