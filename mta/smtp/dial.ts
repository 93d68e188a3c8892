/**
 * Opens sockets: a TCP connection to one IP address, and TLS on top of it. Each call returns a ready socket or the
 * reason why there is none, within its time limit. It destroys a socket that did not become ready. `describeTls` names
 * what was negotiated.
 */
import { constants } from 'node:crypto'
import { connect as connectTcp, isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import type { SecureContext, SecureContextOptions, TLSSocket } from 'node:tls'
import { describeError } from './result.ts'
import type { Loss } from './result.ts'

/** Where to connect to. */
export interface DialTarget {
  /** Name of the MX host, or an address literal: for SNI, the certificate check and the conversation record. */
  readonly host: string
  /** Name for SNI if it differs from the host (RFC 7672 2.2.2). */
  readonly tlsName?: string
  /** The IP address to connect to. */
  readonly address: string
  readonly port: number
  /** The local address to connect from. */
  readonly localAddress?: string
  /** EHLO name of the local address, if it has its own. */
  readonly ehloName?: string
}

/** modern: TLS 1.2 or newer. reduced: TLS 1.0 to 1.2 with old ciphers and keys, for servers of about 2010. */
export type TlsProfile = 'modern' | 'reduced'

/** Which certificates to accept. */
export interface TrustSettings {
  /** Refuse certificates that do not verify for the host. Opportunistic TLS accepts them (RFC 7435). */
  readonly rejectUnauthorized: boolean
  /** PEM of trusted authorities; they replace those of the system. */
  readonly ca?: string
}

/** How the connection is protected. */
export interface TlsFacts {
  /** e.g. `TLSv1.3` */
  readonly protocol: string
  /** The IANA name, e.g. `TLS_AES_256_GCM_SHA384`. */
  readonly cipher: string
  /** The certificate verifies for the host's name, by its alternative names (RFC 8461 4.1). */
  readonly authorized: boolean
}

export type SocketResult<S> = { readonly ok: true; readonly socket: S } | { readonly ok: false; readonly loss: Loss }

/**
 * Opens a TCP connection. `target.address` must be an IP address; the caller has resolved and checked the name.
 * `watch` receives the socket at once; destroying it aborts everything on the connection.
 */
export async function dial(
  target: DialTarget,
  limitMs: number,
  watch?: (socket: Socket) => void,
): Promise<SocketResult<Socket>> {
  const { address, port, localAddress } = target
  if (isIP(address) === 0) throw new TypeError(`not an IP address: ${address}`)
  const socket = connectTcp({ host: address, port, noDelay: true, ...(localAddress !== undefined && { localAddress }) })
  const dialled = expectEvent(socket, 'connect', limitMs)
  watch?.(socket)
  return await dialled
}

export interface HandshakeOptions {
  readonly profile: TlsProfile
  readonly limitMs: number
}

/** Negotiates TLS on a connected socket. */
export async function secure(
  socket: Socket,
  target: DialTarget,
  trust: TrustSettings,
  { profile, limitMs }: HandshakeOptions,
): Promise<SocketResult<TLSSocket>> {
  const host = (target.tlsName ?? target.host).replace(/\.$/, '')
  const secured = connectTls({
    socket,
    host,
    secureContext: findContext(trust, profile),
    rejectUnauthorized: trust.rejectUnauthorized,
    // RFC 6066 3: SNI allows no IP address
    ...(isIP(host) === 0 && { servername: host }),
  })
  const dialled = await expectEvent(secured, 'secureConnect', limitMs)
  if (!dialled.ok) socket.destroy()
  return dialled
}

export function describeTls(socket: TLSSocket): TlsFacts {
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher().standardName,
    authorized: socket.authorized && socket.getPeerCertificate().subjectaltname !== undefined,
  }
}

/** The line of the conversation about a handshake that succeeded. */
export function tlsRemark({ protocol, cipher }: TlsFacts, isVerified: boolean): string {
  return `-- ${protocol} ${cipher}, certificate ${isVerified ? 'verified' : 'not verified'}`
}

/** OpenSSL 3 refuses servers without RFC 5746 unless SSL_OP_LEGACY_SERVER_CONNECT is set. */
const PROFILE_OPTIONS: Readonly<Record<TlsProfile, SecureContextOptions>> = {
  modern: { minVersion: 'TLSv1.2' },
  reduced: {
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.2',
    ciphers: 'DEFAULT:@SECLEVEL=0',
    secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
  },
}

/** Parsing the authorities takes milliseconds, so each list is parsed once. */
const contexts: Readonly<Record<TlsProfile, Map<string | undefined, SecureContext>>> = {
  modern: new Map(),
  reduced: new Map(),
}

function findContext({ ca }: TrustSettings, profile: TlsProfile): SecureContext {
  const known = contexts[profile].get(ca)
  if (known !== undefined) return known
  const context = createSecureContext({ ...PROFILE_OPTIONS[profile], ...(ca !== undefined && { ca }) })
  contexts[profile].set(ca, context)
  return context
}

function expectEvent<S extends Socket>(
  socket: S,
  event: 'connect' | 'secureConnect',
  limitMs: number,
): Promise<SocketResult<S>> {
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
    const settle = (dialled: SocketResult<S>): void => {
      clearTimeout(timer)
      socket.off('error', onError).off('close', onClose).off(event, onReady)
      // an error event without a listener would end the process, also on a socket that the caller drops
      socket.on('error', () => {})
      resolve(dialled)
    }
    socket.once('error', onError).once('close', onClose).once(event, onReady)
  })
}
