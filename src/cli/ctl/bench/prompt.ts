/** Common enough that tokenizers have one token for most of them. */
const WORDS = [
  ...["the", "river", "runs", "past", "a", "small", "house", "where", "light", "falls", "on", "old", "stones", "and"],
  ...[
    "people",
    "walk",
    "to",
    "work",
    "in",
    "morning",
    "with",
    "bread",
    "water",
    "time",
    "for",
    "each",
    "other",
    "under",
  ],
] as const;

/** Asked last, so that the model has something to say. */
const ASK = "Write one long paragraph about all of this.";

/**
 * A prompt of about so many tokens. With another seed it differs from its first word on, so that no cache of an engine
 * helps.
 *
 * @param seed a whole number
 */
export function benchPrompt(tokens: number, seed: number): string {
  const words = Array.from({ length: Math.max(0, tokens - ASK.split(" ").length - 1) }, (_, at) => {
    // A linear step that is prime to the list's length, moved by the seed: no two seeds below it walk the same way for long.
    const index = (at * (3 + 2 * (seed % 11)) + seed * 7) % WORDS.length;
    return WORDS[index] ?? "";
  });
  return [String(seed), ...words, ASK].join(" ");
}
