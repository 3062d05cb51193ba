import { LlmgwError } from "../core/errors.ts";
import { factsOf, isGoodFor, SERVER_AUTH } from "../pki/certificate.ts";
import { FollowedTls, type Following } from "../pki/follow.ts";

/** Certificates whose files may be replaced without a restart. Rejects with every problem at once when they cannot be used. */
export async function followTls(following: Following): Promise<FollowedTls> {
  const opened = await FollowedTls.open(following);
  if (opened.ok) return opened.value;
  throw new LlmgwError("BAD_CONFIG", `the certificates cannot be used:\n${opened.error.join("\n")}`);
}

/** The same for those that a port shows to whoever connects. */
export async function followServerTls(following: Following): Promise<FollowedTls> {
  const followed = await followTls(following);
  if (isGoodFor(factsOf(followed.current.certificate), SERVER_AUTH)) return followed;
  followed.close();
  const { where, files } = following;
  throw new LlmgwError(
    "BAD_CONFIG",
    `${where}.cert: ${files.cert} is no certificate for servers (extended key usage serverAuth is missing): \`llmgw ctl cert issue-server\` makes one`,
  );
}
