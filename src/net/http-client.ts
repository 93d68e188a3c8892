/**
 * The one door through which HTTP leaves on a customer's word: a guarded POST or GET. It promises that no connection goes to an address that is
 * not reachable (private, loopback, reserved, unless allowed), however the address is spelled and whatever DNS says by then; that redirects
 * are answers and not followed; that proxies of the environment are not used; and that an exchange ends within its time, also with a server
 * that drips.
 *
 * Every result is a value. Once the status line has come the answer is known: a body that is too long or too slow only shortens what is
 * kept of it. A kept-alive connection that the server closed just as we used it is tried once more on a fresh one.
 */
import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { readAuthorities } from '#config/setting-file.ts'
import type { Config } from '#config/load.ts'
import { createLookup } from './safe-dns-lookup.ts'
import { isReachable } from './address-policy.ts'

export interface Outgoing {
  /** `timeoutMs` bounds everything: name, connection, TLS, request, answer. */
  post(url: string, request: PostRequest): Promise<Posted>
  get(url: string, request: GetRequest): Promise<Posted>
  /** Ends all connections; what is under way fails. */
  close(): void
}

export interface PostRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
  readonly timeoutMs: number
  /** How much of the answer is kept; its beginning when not said. */
  readonly maxBytes?: number
}

export interface GetRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** How much of the answer is kept. */
  readonly maxBytes: number
}

export type Posted =
  /** An answer of any status; `body` is its beginning, to a POST the first 4 KB unless more is wanted; `location` where a redirect leads, and `contentType`, as they were written. */
  | {
      readonly ok: true
      readonly status: number
      readonly body: string
      readonly location: string | null
      readonly contentType: string | null
      readonly durationMs: number
    }
  | { readonly ok: false; readonly reason: Trouble; readonly detail: string; readonly durationMs: number }

export type Trouble = 'bad-url' | 'forbidden' | 'name' | 'connect' | 'tls' | 'timeout' | 'broken'

const KEPT_BYTES = 4096
// read past what is kept, so that the connection can be used again; more than this is not worth it
const MAX_BODY_BYTES = 64 * 1024
const CONNECTION = { maxSockets: 256, autoSelectFamilyAttemptTimeout: 1000 }
// idle connections end before the 5 s after which most servers close them
const KEPT_ALIVE = { keepAlive: true, maxFreeSockets: 64, timeout: 4000 }

type Settings = Pick<Config, 'allowPrivateTargets' | 'dnsServers' | 'isSandbox' | 'extraCaFile'>

interface Door {
  readonly request: typeof httpRequest
  readonly agent: HttpAgent
  /** Opens a connection for each request. */
  readonly fresh: HttpAgent
}

/** @throws ConfigError when EXTRA_CA_FILE cannot be read, or holds no certificate. */
export function createOutgoing(config: Settings): Outgoing {
  const lookup = createLookup(config)
  const http = { ...CONNECTION, lookup }
  const ca = [
    ...getCACertificates('default'),
    ...(config.extraCaFile === null ? [] : [readAuthorities('EXTRA_CA_FILE', config.extraCaFile)]),
  ]
  // one context for all: parsing the authorities takes longer than a handshake
  const https = { ...http, secureContext: createSecureContext({ ca }), rejectUnauthorized: true }
  const doors: Readonly<Record<string, Door>> = {
    'http:': { request: httpRequest, agent: new HttpAgent({ ...http, ...KEPT_ALIVE }), fresh: new HttpAgent(http) },
    'https:': {
      request: httpsRequest,
      agent: new HttpsAgent({ ...https, ...KEPT_ALIVE }),
      fresh: new HttpsAgent(https),
    },
  }

  async function send(address: string, request: Sending): Promise<Posted> {
    const startedAt = performance.now()
    const url = URL.parse(address)
    const door = doors[url?.protocol ?? '']
    if (url === null || door === undefined || url.username !== '' || url.password !== '')
      return failed('bad-url', 'only http and https addresses without a user name can be reached', startedAt)
    const host = hostOf(url)
    // net.connect does not ask `lookup` about an address; URL has already turned 0x7f.1, 2130706433 and the like into its plain form
    if (isIP(host) !== 0 && !isReachable(host, config.allowPrivateTargets))
      return failed('forbidden', `${host} is a private or reserved address`, startedAt)
    const exchange = { door, url, request, startedAt }
    return (
      (await carryOut(exchange, door.agent)) ??
      (await carryOut(exchange, door.fresh)) ??
      failed('broken', 'the connection was lost', startedAt)
    )
  }

  return {
    post: (url, request) => send(url, { maxBytes: KEPT_BYTES, ...request, method: 'POST' }),
    get: (url, request) => send(url, { ...request, method: 'GET', body: '' }),
    close: () => {
      for (const { agent, fresh } of Object.values(doors)) {
        agent.destroy()
        fresh.destroy()
      }
    },
  }
}

/** The host of an address without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function failed(reason: Trouble, detail: string, startedAt: number): Posted {
  return { ok: false, reason, detail, durationMs: Math.round(performance.now() - startedAt) }
}

type Sending = PostRequest & GetRequest & { readonly method: 'POST' | 'GET' }

interface Exchange {
  readonly door: Door
  readonly url: URL
  readonly request: Sending
  readonly startedAt: number
}

/** One request on one connection. Null when a kept-alive connection turned out to be closed before it said anything. */
function carryOut({ door, url, request, startedAt }: Exchange, agent: HttpAgent): Promise<Posted | null> {
  return new Promise((resolve) => {
    const { port, pathname, search } = url
    const sent = door.request({
      agent,
      method: request.method,
      host: hostOf(url),
      port,
      path: pathname + search,
      headers: request.headers,
    })
    const answer = createAnswer(request.maxBytes)
    const timer = setTimeout(
      () => {
        finish(failed('timeout', `no answer within ${request.timeoutMs / 1000} s`, startedAt))
        sent.destroy()
      },
      Math.max(0, startedAt + request.timeoutMs - performance.now()),
    )

    /** The end, unless the status came before it. */
    function finish(otherwise: Posted | null): void {
      clearTimeout(timer)
      const durationMs = Math.round(performance.now() - startedAt)
      resolve(
        answer.status === null
          ? otherwise
          : {
              ok: true,
              status: answer.status,
              body: answer.text(),
              location: answer.location,
              contentType: answer.contentType,
              durationMs,
            },
      )
    }

    sent.on('response', (response) => answer.read(response, sent, () => finish(null)))
    sent.on('error', (error) => finish(troubleOf(error, sent, startedAt)))
    // a 101 closes without an error
    sent.on('close', () => finish(failed('broken', 'the connection was closed without an answer', startedAt)))
    sent.end(request.body)
  })
}

interface Answer {
  readonly status: number | null
  readonly location: string | null
  readonly contentType: string | null
  read(response: IncomingMessage, sent: ClientRequest, done: () => void): void
  text(): string
}

/** Reads the answer: its status, and the beginning of its body. */
function createAnswer(maxBytes: number): Answer {
  const kept: Buffer[] = []
  let bytes = 0
  let status: number | null = null
  let location: string | null = null
  let contentType: string | null = null

  function read(response: IncomingMessage, sent: ClientRequest, done: () => void): void {
    status = response.statusCode ?? 0
    location = response.headers.location ?? null
    contentType = response.headers['content-type'] ?? null
    response.on('data', (chunk: Buffer) => {
      if (bytes < maxBytes) kept.push(chunk.subarray(0, maxBytes - bytes))
      bytes += chunk.length
      if (bytes > Math.max(MAX_BODY_BYTES, maxBytes)) sent.destroy()
    })
    response.on('end', done)
    response.on('error', done)
  }

  return {
    read,
    text: () => readable(Buffer.concat(kept), maxBytes),
    get status() {
      return status
    },
    get location() {
      return location
    },
    get contentType() {
      return contentType
    },
  }
}

/** As text that PostgreSQL stores: UTF-8 without NUL, and without half a character at the end. */
function readable(bytes: Buffer, maxBytes: number): string {
  const text = bytes.toString('utf8').replaceAll('\0', '')
  return bytes.length === maxBytes ? text.replace(/\uFFFD+$/, '') : text
}

const TROUBLES: readonly (readonly [Trouble, RegExp])[] = [
  ['forbidden', /^EFORBIDDEN$/],
  ['name', /^(ENOTFOUND|ENODATA|EAI_|ESERVFAIL|EREFUSED|ETIMEOUT|EBADNAME|EFORMERR|EBADRESP|ECANCELLED)/],
  ['connect', /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|EACCES|EINVAL)$/],
  ['tls', /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA)/],
]

function troubleOf(thrown: Error, sent: ClientRequest, startedAt: number): Posted | null {
  // both families tried, both failed: the first failure speaks for them
  const error = thrown instanceof AggregateError && thrown.errors[0] instanceof Error ? thrown.errors[0] : thrown
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (sent.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE')) return null
  return failed(TROUBLES.find(([, pattern]) => pattern.test(code))?.[0] ?? 'broken', error.message, startedAt)
}
