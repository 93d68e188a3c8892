/**
 * Opens an SMTP session: connect, greeting, EHLO or HELO, TLS where it is
 * offered and wanted, and signing in where that is asked for. Main path: `openSession`.
 * Promises: what was learned before TLS is forgotten after it; with `required`
 * nothing about a message is ever said without TLS.
 * On failure: a value that names the stage and gives either the server's reply
 * or what happened to the connection; no socket is left behind.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { formatReply } from '#src/mail/reply.ts'
import type { Reply } from '#src/mail/reply.ts'
import { NO_CAPABILITIES, readCapabilities } from './capabilities.ts'
import type { Capabilities } from './capabilities.ts'
import { dial, secure } from './dial.ts'
import type { Handshake, Target, Trust } from './dial.ts'
import type { OpenFailure, OpenStage } from './result.ts'
import type { Login } from './login.ts'
import { Session } from './session.ts'
import type { TlsFacts } from './session.ts'
import type { Timeouts } from './timeouts.ts'
import { Wire } from './wire.ts'

export type Judge = (peer: TLSSocket) => { readonly code: string; readonly text: string } | null

/** How much TLS an opening got, or may begin with. */
export type TlsLevel = Handshake | 'plain'

/** How sessions are opened. */
export interface SessionSettings extends Trust {
  /** Our name in EHLO. */
  readonly ehloName: string
  /** never: plain text. opportunistic: TLS if the server offers it. required: TLS or no session. implicit: TLS before the greeting (RFC 8314). */
  readonly tls: 'never' | 'opportunistic' | 'required' | 'implicit'
  readonly timeouts: Timeouts
  /** Looks at the server's certificate before anything else is said through TLS: null when it will do, else what is wrong with it. */
  readonly judge?: Judge
  /** Told of every connection as it is begun. */
  readonly watch?: (socket: Socket) => void
  /** Signs in once all else is agreed. */
  readonly login?: Login
}

export type Opened =
  | { readonly ok: true; readonly session: Session }
  | { readonly ok: false; readonly failure: OpenFailure }

/** A conversation that has no session yet. */
interface Opening {
  readonly target: Target
  readonly settings: SessionSettings
  readonly handshake: Handshake
  readonly wire: Wire
}

/** The step that stopped the opening. */
interface Stop {
  readonly stage: OpenStage
  readonly reply: Reply | null
}

/** Opens a session, in one attempt on one connection. */
export function openSession(target: Target, settings: SessionSettings): Promise<Opened> {
  return attempt(target, settings, [], 'modern')
}

/** What is left to try when a handshake failed, best first. */
const LEVELS: readonly TlsLevel[] = ['modern', 'reduced', 'plain']
const REMARKS: Readonly<Record<TlsLevel, string>> = {
  modern: 'with TLS',
  reduced: 'with older TLS',
  plain: 'without TLS',
}

/**
 * The same, and where opportunistic TLS fails in the handshake, once more with what old servers speak, and then without TLS,
 * each on a new connection (RFC 7435: some protection when possible, mail always). The record says so. `first` is where to begin.
 */
export async function openWithRetries(
  target: Target,
  settings: SessionSettings,
  first: TlsLevel,
): Promise<Opened & { readonly level: TlsLevel }> {
  const levels = settings.tls === 'opportunistic' ? LEVELS.slice(LEVELS.indexOf(first)) : LEVELS.slice(0, 1)
  let lines = levels[0] === 'modern' ? [] : [`-- its TLS was broken lately: trying ${REMARKS[first]}`]
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
  throw new Error('there is always a level to try')
}

async function attempt(
  target: Target,
  settings: SessionSettings,
  lines: string[],
  handshake: Handshake,
): Promise<Opened> {
  const startedAt = performance.now()
  lines.push(
    `-- ${target.host} [${target.address}]:${target.port}${target.localAddress === undefined ? '' : ` from ${target.localAddress}`}`,
  )
  const dialled = await dial(target, settings.timeouts.connect, settings.watch)
  if (!dialled.ok) {
    lines.push(`-- no connection: ${dialled.loss.detail}`)
    return { ok: false, failure: { stage: 'connect', reply: null, loss: dialled.loss, transcript: lines } }
  }
  const connectMs = performance.now() - startedAt
  const begun =
    settings.tls === 'implicit'
      ? await beginInTls(dialled.socket, target, settings, lines)
      : { socket: dialled.socket, tls: null }
  const from = dialled.socket.localAddress === undefined ? {} : { localAddress: dialled.socket.localAddress }
  if ('stage' in begun) return { ok: false, failure: { ...begun, ...from } }
  const opening = { target, settings, handshake, wire: new Wire(begun.socket, settings.timeouts, lines) }
  const met = await agree(opening, begun.tls)
  const agreed = 'stage' in met ? met : await signIn(opening, met)
  if ('stage' in agreed) return { ok: false, failure: { ...fail(opening.wire, agreed), ...from } }
  return {
    ok: true,
    session: new Session(opening.wire, { ...agreed, ...from, connectMs, openMs: performance.now() - startedAt }),
  }
}

interface Met {
  readonly offers: Capabilities
  readonly tls: TlsFacts | null
}

async function beginInTls(
  socket: Socket,
  target: Target,
  settings: SessionSettings,
  lines: string[],
): Promise<{ socket: Socket; tls: TlsFacts } | OpenFailure> {
  const secured = await secure(socket, target, settings, { handshake: 'modern', limitMs: settings.timeouts.tls })
  if (secured.ok) {
    const tls = describeTls(secured.socket)
    lines.push(remarkOn(tls))
    return { socket: secured.socket, tls }
  }
  const loss = { ...secured.loss, detail: `TLS failed: ${secured.loss.detail}` }
  lines.push(`-- connection lost: ${loss.detail}`)
  return { stage: 'tls', reply: null, loss, transcript: lines }
}

function remarkOn({ protocol, cipher, authorized }: TlsFacts): string {
  return `-- ${protocol} ${cipher}, certificate ${authorized ? 'verified' : 'not verified'}`
}

async function signIn({ settings, wire }: Opening, met: Met): Promise<Stop | Met> {
  const refused = (await settings.login?.(wire, met.offers)) ?? null
  return refused === null ? met : { stage: 'auth', reply: refused.reply }
}

/** Greeting, EHLO, TLS where it is not there from the beginning, EHLO. */
async function agree(opening: Opening, begun: TlsFacts | null): Promise<Stop | Met> {
  const { settings, wire } = opening
  const greeting = await wire.answer('greeting')
  if (greeting?.code !== 220) return { stage: 'greeting', reply: greeting }
  const offers = await sayHello(opening)
  if ('stage' in offers) return offers
  if (begun !== null) return { offers, tls: begun }
  if (settings.tls === 'never' || (settings.tls === 'opportunistic' && !offers.starttls)) return { offers, tls: null }
  if (!offers.starttls) {
    wire.lose('protocol', 'TLS is required and the server does not offer it', 'starttls-not-supported')
    return { stage: 'starttls', reply: null }
  }
  const tls = await startTls(opening)
  // A server that offers STARTTLS and then will not is still good for plain text.
  if ('stage' in tls && tls.stage === 'starttls' && settings.tls === 'opportunistic' && isPolite(tls.reply))
    return { offers, tls: null }
  if ('stage' in tls) return tls
  const securely = await sayHello(opening)
  return 'stage' in securely ? securely : { offers: securely, tls }
}

/** EHLO, and HELO where EHLO is not known (RFC 5321 3.2). */
async function sayHello({ target, settings, wire }: Opening): Promise<Stop | Capabilities> {
  const name = target.ehloName ?? settings.ehloName
  wire.send([`EHLO ${name}`])
  const ehlo = await wire.answer('ehlo')
  if (ehlo !== null && isSuccess(ehlo)) return readCapabilities(ehlo)
  if (ehlo === null || ehlo.code < 500) return { stage: 'ehlo', reply: ehlo }
  wire.send([`HELO ${name}`])
  const helo = await wire.answer('ehlo')
  return helo !== null && isSuccess(helo) ? NO_CAPABILITIES : { stage: 'ehlo', reply: helo ?? ehlo }
}

async function startTls({ target, settings, handshake, wire }: Opening): Promise<Stop | TlsFacts> {
  wire.send(['STARTTLS'])
  const reply = await wire.answer('starttls')
  if (reply?.code !== 220) return { stage: 'starttls', reply }
  const socket = wire.detach()
  if (socket === null) {
    wire.lose('protocol', 'the server went on in plain text after its answer to STARTTLS')
    return { stage: 'starttls', reply: null }
  }
  const secured = await secure(socket, target, settings, { handshake, limitMs: settings.timeouts.tls })
  if (!secured.ok) {
    wire.lose(secured.loss.cause, `TLS failed: ${secured.loss.detail}`, secured.loss.code)
    return { stage: 'tls', reply: null }
  }
  const facts = describeTls(secured.socket)
  wire.note(remarkOn(facts))
  wire.attach(secured.socket)
  const fault = settings.judge?.(secured.socket) ?? null
  if (fault === null) return facts
  wire.lose('protocol', fault.text, fault.code)
  return { stage: 'tls', reply: null }
}

function describeTls(socket: TLSSocket): TlsFacts {
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher().standardName,
    authorized: socket.authorized && socket.getPeerCertificate().subjectaltname !== undefined,
  }
}

function isSuccess(reply: Reply): boolean {
  return reply.code < 300
}

/** A refusal after which the server still listens. */
function isPolite(reply: Reply | null): boolean {
  return reply !== null && reply.code >= 400 && reply.code !== 421
}

/** The opening ends here: with the server's refusal, or with what happened to the connection. QUIT is said without waiting. */
function fail(wire: Wire, { stage, reply }: Stop): OpenFailure {
  // What comes unasked around STARTTLS may have been put in by anybody on the way.
  const farewell = stage === 'starttls' ? null : wire.farewell
  const refusal = reply !== null && reply.code >= 400 ? reply : farewell
  if (reply !== null && refusal === null) wire.lose('protocol', `not an answer to ${stage}: ${formatReply(reply)}`)
  if (wire.loss === null) void wire.leave()
  return { stage, reply: refusal, loss: refusal === null ? wire.loss : null, transcript: wire.takeLines() }
}
