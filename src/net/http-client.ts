/**
 * The HTTP client for URLs of customers: POST and GET with protection against SSRF. It never connects to an address
 * that is not reachable (private, loopback, reserved, unless allowed), whatever the spelling of the address and
 * whatever DNS returns at that moment. It does not follow redirects and does not use proxies of the environment. A
 * request ends within its timeout, even if the server sends one byte at a time.
 *
 * Every result is a value. After the status line the result is known: a body that is too long or too slow is cut. If
 * the server closes a keep-alive connection at the moment of reuse, a GET is sent once more on a new connection. A POST
 * never is: the server may have handled it, and only the caller knows whether it may be repeated.
 */
import { Agent as HttpAgent, request as httpRequest, type AgentOptions, type ClientRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { readAuthorities } from '#config/setting-file.ts'
import type { Config } from '#config/load.ts'
import { createSafeLookup, isReachable } from './address-policy.ts'
import { createResponseReader, type HttpResponse, type ReadOptions } from './http-response.ts'
import { withoutNodeOptions } from './node-error-text.ts'

export interface HttpClient {
  /** `timeoutMs` is the limit for all of it: DNS, connection, TLS, request and response. */
  post(url: string, request: PostRequest): Promise<HttpResult>
  get(url: string, request: GetRequest): Promise<HttpResult>
  /** Closes all connections; running requests fail. */
  close(): void
}

export interface PostRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
  readonly timeoutMs: number
  /** The part of the response body that is returned; by default its first 4 KB. */
  readonly maxBytes?: number
}

/** `maxBytes` is the part of the response body that is returned. */
export interface GetRequest extends ReadOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

export type HttpResult =
  | HttpResponse
  | { readonly ok: false; readonly reason: HttpFailure; readonly detail: string; readonly durationMs: number }

export type HttpFailure = 'bad-url' | 'forbidden' | 'name' | 'connect' | 'tls' | 'timeout' | 'broken'

const DEFAULT_MAX_BYTES = 4096
const CONNECTION = { maxSockets: 256, autoSelectFamilyAttemptTimeout: 1000 }
// A connection that was idle for longer is not used again: servers close theirs after 2 s (gunicorn) to 5 s (Node,
// Apache), and a POST that crosses such a close is lost.
const KEEP_ALIVE = { keepAlive: true, maxFreeSockets: 64, timeout: 1000 }

type HttpClientSettings = Pick<Config, 'allowPrivateTargets' | 'dnsServers' | 'isSandbox' | 'extraCaFile'>

interface ProtocolAgents {
  readonly request: typeof httpRequest
  readonly agent: HttpAgent
  /** Opens a new connection for each request. */
  readonly fresh: HttpAgent
}

/** @throws ConfigError when EXTRA_CA_FILE cannot be read or has no certificate. */
export function createHttpClient(config: HttpClientSettings): HttpClient {
  const options = { ...CONNECTION, lookup: createSafeLookup(config) }
  const authorities = config.extraCaFile === null ? [] : [readAuthorities('EXTRA_CA_FILE', config.extraCaFile)]
  const http: ProtocolAgents = {
    request: httpRequest,
    agent: new HttpAgent({ ...options, ...KEEP_ALIVE }),
    fresh: new HttpAgent(options),
  }
  let https: ProtocolAgents | null = null

  function agentsFor(url: URL | null): ProtocolAgents | null {
    if (url?.protocol === 'http:') return http
    return url?.protocol === 'https:' ? (https ??= createHttpsAgents(options, authorities)) : null
  }

  async function send(address: string, request: HttpRequest): Promise<HttpResult> {
    const startedAt = performance.now()
    const url = URL.parse(address)
    const agents = agentsFor(url)
    if (url === null || agents === null || url.username !== '' || url.password !== '')
      return failure('bad-url', 'only http and https URLs without user name and password are allowed', startedAt)
    const host = hostOf(url)
    // net.connect does not call `lookup` for an IP address; URL has already normalised 0x7f.1, 2130706433 and the like
    if (isIP(host) !== 0 && !isReachable(host, config.allowPrivateTargets))
      return failure('forbidden', `${host} is a private or reserved address`, startedAt)
    const exchange = { agents, url, request, startedAt }
    return (
      (await sendOnce(exchange, agents.agent)) ??
      (await sendOnce(exchange, agents.fresh)) ??
      failure('broken', 'the connection was lost', startedAt)
    )
  }

  return {
    post: (url, request) => send(url, { maxBytes: DEFAULT_MAX_BYTES, ...request, method: 'POST' }),
    get: (url, request) => send(url, { ...request, method: 'GET', body: '' }),
    close: () => {
      for (const agents of [http, https]) {
        agents?.agent.destroy()
        agents?.fresh.destroy()
      }
    },
  }
}

/**
 * Made for the first https URL, with one context for all connections: parsing the certificate authorities takes 20 ms,
 * longer than a handshake.
 */
function createHttpsAgents(options: AgentOptions, authorities: readonly string[]): ProtocolAgents {
  const secureContext = createSecureContext({ ca: [...getCACertificates('default'), ...authorities] })
  const secure = { ...options, secureContext, rejectUnauthorized: true }
  return {
    request: httpsRequest,
    agent: new HttpsAgent({ ...secure, ...KEEP_ALIVE }),
    fresh: new HttpsAgent(secure),
  }
}

/** The host of a URL without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function failure(reason: HttpFailure, detail: string, startedAt: number): HttpResult {
  return { ok: false, reason, detail, durationMs: Math.round(performance.now() - startedAt) }
}

type HttpRequest = PostRequest & GetRequest & { readonly method: 'POST' | 'GET' }

interface Exchange {
  readonly agents: ProtocolAgents
  readonly url: URL
  readonly request: HttpRequest
  readonly startedAt: number
}

/** Sends the request on one connection. Null when a reused connection was closed before the response to a GET. */
function sendOnce({ agents, url, request, startedAt }: Exchange, agent: HttpAgent): Promise<HttpResult | null> {
  return new Promise((resolve) => {
    const { port, pathname, search } = url
    const sent = agents.request({
      agent,
      method: request.method,
      host: hostOf(url),
      port,
      path: pathname + search,
      headers: request.headers,
    })
    const response = createResponseReader(request)
    let isTimedOut = false
    const timer = setTimeout(
      () => {
        isTimedOut = true
        finish(failure('timeout', `no response within ${request.timeoutMs / 1000} s`, startedAt))
        sent.destroy()
      },
      Math.max(0, startedAt + request.timeoutMs - performance.now()),
    )

    /** Resolves with the response if its status has arrived, otherwise with `otherwise`. */
    function finish(otherwise: HttpResult | null): void {
      clearTimeout(timer)
      const durationMs = Math.round(performance.now() - startedAt)
      resolve(response.result({ durationMs, isTimedOut }) ?? otherwise)
    }

    sent.on('response', (message) => response.read(message, sent, () => finish(null)))
    sent.on('error', (error) => finish(failureOf(error, sent, startedAt)))
    // a 101 response closes the connection without an error
    sent.on('close', () => finish(failure('broken', 'the connection was closed without a response', startedAt)))
    sent.end(request.body)
  })
}

const FAILURE_PATTERNS: readonly (readonly [HttpFailure, RegExp])[] = [
  ['name', /^(ENOTFOUND|ENODATA|EAI_|ESERVFAIL|EREFUSED|ETIMEOUT|EBADNAME|EFORMERR|EBADRESP|ECANCELLED)/],
  ['connect', /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|EACCES|EINVAL)$/],
  ['tls', /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA)/],
]

/** Null if the request may be sent once more. */
function failureOf(thrown: Error, sent: ClientRequest, startedAt: number): HttpResult | null {
  // both address families failed: the first failure is reported
  const error = thrown instanceof AggregateError && thrown.errors[0] instanceof Error ? thrown.errors[0] : thrown
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (sent.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')) {
    if (sent.method === 'GET') return null
    const detail = 'the server closed the connection without a response; it may have handled the request'
    return failure('broken', detail, startedAt)
  }
  const kind = FAILURE_PATTERNS.find(([, pattern]) => pattern.test(code))?.[0] ?? 'broken'
  return failure(kind, withoutNodeOptions(error.message), startedAt)
}
