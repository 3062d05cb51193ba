import { describe, expect, test } from "vitest";
import { proxyFor } from "./proxy.ts";

const proxy = "http://proxy.corp:3128";

describe("proxyFor", () => {
  test.each([
    { name: "http by HTTP_PROXY", url: "http://a.example/x", env: { HTTP_PROXY: proxy }, want: proxy },
    { name: "https by HTTPS_PROXY", url: "https://a.example/x", env: { HTTPS_PROXY: proxy }, want: proxy },
    { name: "https never by HTTP_PROXY", url: "https://a.example/x", env: { HTTP_PROXY: proxy }, want: undefined },
    { name: "both by ALL_PROXY", url: "https://a.example/x", env: { all_proxy: proxy }, want: proxy },
    {
      name: "lower case wins",
      url: "http://a.example",
      env: { HTTP_PROXY: "http://no", http_proxy: proxy },
      want: proxy,
    },
    { name: "a proxy without a scheme", url: "http://a.example", env: { http_proxy: "proxy.corp:3128" }, want: proxy },
    { name: "an empty variable is none", url: "http://a.example", env: { HTTP_PROXY: "" }, want: undefined },
    { name: "nothing set", url: "http://a.example", env: {}, want: undefined },
  ])("$name", ({ url, env, want }) => {
    expect(proxyFor(new URL(url), env)).toBe(want);
  });

  test.each([
    { noProxy: "*", url: "http://a.example/", direct: true },
    { noProxy: "a.example", url: "http://a.example/", direct: true },
    { noProxy: "a.example", url: "http://b.a.example/", direct: true },
    { noProxy: ".a.example", url: "http://b.a.example/", direct: true },
    { noProxy: "*.a.example", url: "http://b.a.example/", direct: true },
    { noProxy: "*.a.example", url: "http://a.example/", direct: false },
    { noProxy: "a.example", url: "http://nota.example/", direct: false },
    { noProxy: "x, A.Example:8080 y", url: "http://a.example:8080/", direct: true },
    { noProxy: "a.example:8080", url: "http://a.example/", direct: false },
    { noProxy: "a.example:80", url: "http://a.example/", direct: true },
    { noProxy: "127.0.0.1", url: "http://127.0.0.1:99/", direct: true },
    { noProxy: "10.0.0.0/8", url: "http://10.2.3.4/", direct: true },
    { noProxy: "10.0.0.0/8", url: "http://11.2.3.4/", direct: false },
    { noProxy: "10.0.0.0/99", url: "http://10.2.3.4/", direct: false },
    { noProxy: "::1", url: "http://[::1]:80/", direct: true },
    { noProxy: "[::1]:80", url: "http://[::1]:80/", direct: true },
    { noProxy: "fd00::/8", url: "http://[fd12::1]/", direct: true },
    { noProxy: "", url: "http://a.example/", direct: false },
  ])("NO_PROXY=$noProxy for $url is direct: $direct", ({ noProxy, url, direct }) => {
    const env = { HTTP_PROXY: proxy, NO_PROXY: noProxy };
    expect(proxyFor(new URL(url), env)).toBe(direct ? undefined : proxy);
  });
});
