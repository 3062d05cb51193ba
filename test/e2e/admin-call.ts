/** Where a control plane answers, and the token that it asks for. */
interface AdminPort {
  readonly url: string;
  readonly token: string;
}

/** The admin API as curl would call it: plain JSON over HTTP/1.1. Rejects with what it refused with. */
export async function callAdmin<T>({ url, token }: AdminPort, method: string, body: unknown = {}): Promise<T> {
  const response = await fetch(`${url}/llmgw.v1.AdminService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method}: ${String(response.status)} ${text}`);
  return JSON.parse(text) as T;
}
