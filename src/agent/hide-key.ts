/** Some engines print all their settings, their key among them: what leaves the node is without it. */
export function hideKey(lines: readonly string[], key: string): readonly string[] {
  return key === "" ? lines : lines.map((line) => line.replaceAll(key, "***"));
}
