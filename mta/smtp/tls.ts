/**
 * Negotiates TLS on a connected socket (RFC 3207, RFC 8314), within a time limit. It destroys a socket whose handshake
 * failed. `describeTls` names what was negotiated.
 */
import { constants } from 'node:crypto'
import { isIP } from 'node:net'
import type { Socket } from 'node:net'
import { connect as connectTls, createSecureContext } from 'node:tls'
import type { SecureContext, SecureContextOptions, TLSSocket } from 'node:tls'
import { expectEvent, type DialTarget, type SocketResult } from './dial.ts'

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
