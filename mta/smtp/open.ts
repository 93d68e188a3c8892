/**
 * Opens an SMTP session: connect, greeting, EHLO or HELO, STARTTLS if offered and wanted, and authentication if
 * requested. Main function: `openSession`. It discards the capabilities announced before TLS; an unknown or malformed
 * keyword in the reply to EHLO counts as not offered, which is always safe. With `required`, it sends nothing about a
 * message without TLS. On failure it returns the stage with the server's reply or the loss of the connection; it leaves
 * no socket open.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { formatReply } from '#src/mail/reply.ts'
import type { Reply } from '#src/mail/reply.ts'
import { dial } from './dial.ts'
import type { DialTarget } from './dial.ts'
import type { Capabilities, OpenFailure, OpenStage } from './result.ts'
import type { Login } from './login.ts'
import { Session } from './session.ts'
import type { Timeouts } from './timeouts.ts'
import { describeTls, secure, tlsRemark } from './tls.ts'
import type { TlsFacts, TlsProfile, TrustSettings } from './tls.ts'
import { Wire } from './wire.ts'

export type CertificateCheck = (peer: TLSSocket) => { readonly code: string; readonly text: string } | null

/** How much TLS an opening got, or may begin with. */
export type TlsLevel = TlsProfile | 'plain'

/** How sessions are opened. */
export interface SessionSettings extends TrustSettings {
  /** Name for EHLO. */
  readonly ehloName: string
  /**
   * never: plain text. opportunistic: TLS if the server offers it. required: TLS or no session.
   * implicit: TLS before the greeting (RFC 8314).
   */
  readonly tls: 'never' | 'opportunistic' | 'required' | 'implicit'
  readonly timeouts: Timeouts
  /** Checks the server's certificate directly after the handshake; null if it is acceptable. */
  readonly checkCertificate?: CertificateCheck
  /** Receives every socket as it is opened. */
  readonly onSocket?: (socket: Socket) => void
  /** Authenticates after EHLO and TLS. */
  readonly login?: Login
}

export type OpenResult =
  | { readonly ok: true; readonly session: Session }
  | { readonly ok: false; readonly failure: OpenFailure }

/** A connection that is not yet a session. */
interface OpenAttempt {
  readonly target: DialTarget
  readonly settings: SessionSettings
  readonly profile: TlsProfile
  readonly wire: Wire
}

/** The stage that failed, with the server's reply. */
interface StageFailure {
  readonly stage: OpenStage
  readonly reply: Reply | null
}

/** Opens a session, with one attempt on one connection. */
export function openSession(target: DialTarget, settings: SessionSettings): Promise<OpenResult> {
  return attempt(target, settings, [], 'modern')
}

/** TLS levels in the order to try after a failed handshake. */
const LEVELS: readonly TlsLevel[] = ['modern', 'reduced', 'plain']
const REMARKS: Readonly<Record<TlsLevel, string>> = {
  modern: 'with TLS',
  reduced: 'with older TLS',
  plain: 'without TLS',
}

/**
 * As `openSession`. If an opportunistic TLS handshake fails, tries again with older TLS and then without TLS, each on a
 * new connection (RFC 7435), and records this in the conversation. `first` is the level to begin with.
 */
export async function openWithRetries(
  target: DialTarget,
  settings: SessionSettings,
  first: TlsLevel,
): Promise<OpenResult & { readonly level: TlsLevel }> {
  const levels = settings.tls === 'opportunistic' ? LEVELS.slice(LEVELS.indexOf(first)) : LEVELS.slice(0, 1)
  let lines = levels[0] === 'modern' ? [] : [`-- TLS of this host failed recently: trying ${REMARKS[first]}`]
  for (const [i, level] of levels.entries()) {
    const opened = await attempt(
      target,
      level === 'plain' ? { ...settings, tls: 'never' } : settings,
      lines,
      level === 'reduced' ? 'reduced' : 'modern',
    )
    const next = levels[i + 1]
    if (opened.ok || opened.failure.stage !== 'tls' || next === undefined) return { ...opened, level }
    lines = [...opened.failure.transcript, `-- trying once more ${REMARKS[next]}`]
  }
  throw new Error('no TLS level to try')
}

async function attempt(
  target: DialTarget,
  settings: SessionSettings,
  lines: string[],
  profile: TlsProfile,
): Promise<OpenResult> {
  const startedAt = performance.now()
  const source = target.localAddress === undefined ? '' : ` from ${target.localAddress}`
  lines.push(`-- ${target.host} [${target.address}]:${target.port}${source}`)
  const dialled = await dial(target, settings.timeouts.connect, settings.onSocket)
  if (!dialled.ok) {
    lines.push(`-- no connection: ${dialled.loss.detail}`)
    return { ok: false, failure: { stage: 'connect', reply: null, loss: dialled.loss, transcript: lines } }
  }
  const connectMs = performance.now() - startedAt
  const started =
    settings.tls === 'implicit'
      ? await startImplicitTls(dialled.socket, target, settings, lines)
      : { socket: dialled.socket, tls: null }
  const from = dialled.socket.localAddress === undefined ? {} : { localAddress: dialled.socket.localAddress }
  if ('stage' in started) return { ok: false, failure: { ...started, ...from } }
  const opening = { target, settings, profile, wire: new Wire(started.socket, settings.timeouts, lines) }
  const negotiated = await negotiate(opening, started.tls)
  const signedIn = 'stage' in negotiated ? negotiated : await signIn(opening, negotiated)
  if ('stage' in signedIn) return { ok: false, failure: { ...failureOf(opening.wire, signedIn), ...from } }
  return {
    ok: true,
    session: new Session(opening.wire, { ...signedIn, ...from, connectMs, openMs: performance.now() - startedAt }),
  }
}

interface Negotiated {
  readonly offers: Capabilities
  readonly tls: TlsFacts | null
}

async function startImplicitTls(
  socket: Socket,
  target: DialTarget,
  settings: SessionSettings,
  lines: string[],
): Promise<{ socket: Socket; tls: TlsFacts } | OpenFailure> {
  const secured = await secure(socket, target, settings, { profile: 'modern', limitMs: settings.timeouts.tls })
  if (secured.ok) {
    const tls = describeTls(secured.socket)
    lines.push(tlsRemark(tls, tls.authorized))
    return { socket: secured.socket, tls }
  }
  const loss = { ...secured.loss, detail: `TLS failed: ${secured.loss.detail}` }
  lines.push(`-- connection lost: ${loss.detail}`)
  return { stage: 'tls', reply: null, loss, transcript: lines }
}

async function signIn({ settings, wire }: OpenAttempt, negotiated: Negotiated): Promise<StageFailure | Negotiated> {
  const refused = (await settings.login?.(wire, negotiated.offers)) ?? null
  return refused === null ? negotiated : { stage: 'auth', reply: refused.reply }
}

/** Greeting, EHLO, STARTTLS unless TLS is implicit, EHLO. */
async function negotiate(opening: OpenAttempt, implicitTls: TlsFacts | null): Promise<StageFailure | Negotiated> {
  const { settings, wire } = opening
  const greeting = await wire.readReply('greeting')
  if (greeting?.code !== 220) return { stage: 'greeting', reply: greeting }
  const offers = await sayHello(opening)
  if ('stage' in offers) return offers
  if (implicitTls !== null) return { offers, tls: implicitTls }
  if (settings.tls === 'never' || (settings.tls === 'opportunistic' && !offers.starttls)) return { offers, tls: null }
  if (!offers.starttls) {
    wire.lose('protocol', 'TLS is required and the server does not offer it', 'starttls-not-supported')
    return { stage: 'starttls', reply: null }
  }
  const tls = await startTls(opening)
  // a server that offers STARTTLS and then refuses it still accepts plain text
  if ('stage' in tls && tls.stage === 'starttls' && settings.tls === 'opportunistic' && isRecoverable(tls.reply))
    return { offers, tls: null }
  if ('stage' in tls) return tls
  const offersOverTls = await sayHello(opening)
  return 'stage' in offersOverTls ? offersOverTls : { offers: offersOverTls, tls }
}

/** Sends EHLO, and HELO if the server does not know EHLO (RFC 5321 3.2). */
async function sayHello({ target, settings, wire }: OpenAttempt): Promise<StageFailure | Capabilities> {
  const name = target.ehloName ?? settings.ehloName
  wire.send([`EHLO ${name}`])
  const ehlo = await wire.readReply('ehlo')
  if (ehlo !== null && isSuccess(ehlo)) return readCapabilities(ehlo)
  if (ehlo === null || ehlo.code < 500) return { stage: 'ehlo', reply: ehlo }
  wire.send([`HELO ${name}`])
  const helo = await wire.readReply('ehlo')
  return helo !== null && isSuccess(helo) ? NO_CAPABILITIES : { stage: 'ehlo', reply: helo ?? ehlo }
}

/** The capabilities of a server that knows only HELO. */
export const NO_CAPABILITIES: Capabilities = {
  pipelining: false,
  starttls: false,
  eightBitMime: false,
  smtputf8: false,
  enhancedStatusCodes: false,
  size: null,
  auth: [],
}

/** The form before RFC 2554; some servers send both. */
const OLD_AUTH = /^AUTH=/i

/** Parses the reply to EHLO; its first line is a greeting, not a keyword. */
export function readCapabilities(reply: Reply): Capabilities {
  const offered = new Map<string, string[]>()
  for (const line of reply.lines.slice(1)) {
    const [keyword = '', ...parameters] = line.slice(4).trim().replace(OLD_AUTH, 'AUTH ').split(/\s+/)
    const name = keyword.toUpperCase()
    offered.set(name, [...(offered.get(name) ?? []), ...parameters])
  }
  return {
    pipelining: offered.has('PIPELINING'),
    starttls: offered.has('STARTTLS'),
    eightBitMime: offered.has('8BITMIME'),
    smtputf8: offered.has('SMTPUTF8'),
    enhancedStatusCodes: offered.has('ENHANCEDSTATUSCODES'),
    size: readSize(offered.get('SIZE')),
    auth: [...new Set(offered.get('AUTH')?.map((name) => name.toUpperCase()))],
  }
}

function readSize(parameters: readonly string[] | undefined): number | null {
  if (parameters === undefined) return null
  const [parameter = ''] = parameters
  return /^\d+$/.test(parameter) ? Number(parameter) : 0
}

async function startTls({ target, settings, profile, wire }: OpenAttempt): Promise<StageFailure | TlsFacts> {
  wire.send(['STARTTLS'])
  const reply = await wire.readReply('starttls')
  if (reply?.code !== 220) return { stage: 'starttls', reply }
  const socket = wire.detach()
  if (socket === null) {
    wire.lose('protocol', 'the server sent more plain text after its reply to STARTTLS')
    return { stage: 'starttls', reply: null }
  }
  const secured = await secure(socket, target, settings, { profile, limitMs: settings.timeouts.tls })
  if (!secured.ok) {
    wire.lose(secured.loss.cause, `TLS failed: ${secured.loss.detail}`, secured.loss.code)
    return { stage: 'tls', reply: null }
  }
  const facts = describeTls(secured.socket)
  const fault = settings.checkCertificate?.(secured.socket) ?? null
  // the check of the domain's policy decides: DANE verifies certificates that no authority signed
  const isVerified = settings.checkCertificate === undefined ? facts.authorized : fault === null
  wire.addLine(tlsRemark(facts, isVerified))
  wire.attach(secured.socket)
  if (fault === null) return facts
  wire.lose('protocol', fault.text, fault.code)
  return { stage: 'tls', reply: null }
}

function isSuccess(reply: Reply): boolean {
  return reply.code < 300
}

/** A refusal after which the connection remains usable. */
function isRecoverable(reply: Reply | null): boolean {
  return reply !== null && reply.code >= 400 && reply.code !== 421
}

/** The failure: the server's refusal, or the loss of the connection. Sends QUIT without waiting. */
function failureOf(wire: Wire, { stage, reply }: StageFailure): OpenFailure {
  // an attacker may have injected an unsolicited reply around STARTTLS
  const farewell = stage === 'starttls' ? null : wire.unsolicitedRefusal
  const refusal = reply !== null && reply.code >= 400 ? reply : farewell
  if (reply !== null && refusal === null) wire.lose('protocol', `invalid reply to ${stage}: ${formatReply(reply)}`)
  if (wire.loss === null) void wire.quit()
  return { stage, reply: refusal, loss: refusal === null ? wire.loss : null, transcript: wire.drainLines() }
}
