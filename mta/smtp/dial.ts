/**
 * Makes sockets: a TCP connection to one address, and TLS on top of it. Each
 * attempt comes to a ready socket or to the reason why there is none, within its
 * time limit; a socket that did not come about is destroyed.
 */
import { constants } from 'node:crypto'
import { connect as connectTcp, isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import type { SecureContext, SecureContextOptions, TLSSocket } from 'node:tls'
import { describeError } from './result.ts'
import type { Loss } from './result.ts'

/** Where to connect to. */
export interface Target {
  /** The MX host's name: for SNI, the certificate and the record. An address literal may stand in its place. */
  readonly host: string
  /** For SNI, where it is not the host's (RFC 7672 2.2.2). */
  readonly tlsName?: string
  /** The IP address to connect to. */
  readonly address: string
  readonly port: number
  /** The egress address to connect from. */
  readonly localAddress?: string
  /** Our name in EHLO, where the address that we connect from has one of its own. */
  readonly ehloName?: string
}

/** modern: TLS 1.2 or newer. reduced: what servers of 2010 speak, TLS 1.0 to 1.2 with the ciphers and keys of their time; better than plain text. */
export type Handshake = 'modern' | 'reduced'

/** How far a certificate is to be trusted. */
export interface Trust {
  /** Refuse certificates that do not verify for the host. Mail between strangers usually cannot (RFC 7435). */
  readonly rejectUnauthorized: boolean
  /** PEM of further authorities; they replace the system's. */
  readonly ca?: string
}

export type Dialled<S> = { readonly ok: true; readonly socket: S } | { readonly ok: false; readonly loss: Loss }

/**
 * Opens a TCP connection. `target.address` has to be an IP address: names are resolved, and judged, elsewhere.
 * `watch` is handed the socket at once, by whose destruction its owner may cut short whatever happens on it.
 */
export async function dial(
  target: Target,
  limitMs: number,
  watch?: (socket: Socket) => void,
): Promise<Dialled<Socket>> {
  const { address, port, localAddress } = target
  if (isIP(address) === 0) throw new TypeError(`not an IP address: ${address}`)
  const socket = connectTcp({ host: address, port, noDelay: true, ...(localAddress !== undefined && { localAddress }) })
  const dialled = expectEvent(socket, 'connect', limitMs)
  watch?.(socket)
  return await dialled
}

export interface HandshakeOrder {
  readonly handshake: Handshake
  readonly limitMs: number
}

/** Speaks TLS over a connected socket. */
export async function secure(
  socket: Socket,
  target: Target,
  trust: Trust,
  { handshake, limitMs }: HandshakeOrder,
): Promise<Dialled<TLSSocket>> {
  const host = (target.tlsName ?? target.host).replace(/\.$/, '')
  const secured = connectTls({
    socket,
    host,
    secureContext: findContext(trust, handshake),
    rejectUnauthorized: trust.rejectUnauthorized,
    // RFC 6066 3: an address is no server name.
    ...(isIP(host) === 0 && { servername: host }),
  })
  const dialled = await expectEvent(secured, 'secureConnect', limitMs)
  if (!dialled.ok) socket.destroy()
  return dialled
}

/** Many old servers do not know RFC 5746, and OpenSSL 3 would not speak with them. */
const OPTIONS: Readonly<Record<Handshake, SecureContextOptions>> = {
  modern: { minVersion: 'TLSv1.2' },
  reduced: {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.2',
    ciphers: 'DEFAULT:@SECLEVEL=0',
    secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
  },
}

/** Reading the authorities takes milliseconds, so it is done once for each list of them. */
const contexts: Readonly<Record<Handshake, Map<string | undefined, SecureContext>>> = {
  modern: new Map(),
  reduced: new Map(),
}

function findContext({ ca }: Trust, handshake: Handshake): SecureContext {
  const known = contexts[handshake].get(ca)
  if (known !== undefined) return known
  const context = createSecureContext({ ...OPTIONS[handshake], ...(ca !== undefined && { ca }) })
  contexts[handshake].set(ca, context)
  return context
}

function expectEvent<S extends Socket>(
  socket: S,
  event: 'connect' | 'secureConnect',
  limitMs: number,
): Promise<Dialled<S>> {
  return new Promise((resolve) => {
    const fail = (loss: Loss): void => {
      settle({ ok: false, loss })
      socket.destroy()
    }
    const onError = (error: NodeJS.ErrnoException): void => fail(describeError(error))
    const onClose = (): void => fail({ cause: 'closed', code: null, detail: 'the server closed the connection' })
    const onReady = (): void => settle({ ok: true, socket })
    const timer = setTimeout(
      () => fail({ cause: 'timeout', code: null, detail: `no answer within ${limitMs} ms (${event})` }),
      limitMs,
    )
    const settle = (dialled: Dialled<S>): void => {
      clearTimeout(timer)
      socket.off('error', onError).off('close', onClose).off(event, onReady)
      // Whoever takes the socket listens for errors too; this one is for the socket that nobody takes.
      socket.on('error', () => {})
      resolve(dialled)
    }
    socket.once('error', onError).once('close', onClose).once(event, onReady)
  })
}
