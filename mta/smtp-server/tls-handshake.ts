/**
 * The server's side of a TLS handshake on an accepted socket, for STARTTLS and for ports that begin with TLS. What the
 * client sent before the handshake is not read afterwards (RFC 3207 4.2). Nobody closes the socket below a handshake:
 * the returned socket is destroyed instead, which closes both.
 */
import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'

export interface TlsSettings {
  readonly context: SecureContext
  /** Requires a certificate of the client. */
  readonly requiresClientCertificate: boolean
}

/** Calls `done` after the handshake. A failed handshake destroys the returned socket, which emits `close`. */
export function startHandshake(socket: Socket, settings: TlsSettings, done: (secured: TLSSocket) => void): TLSSocket {
  const secured = new TLSSocket(socket, {
    isServer: true,
    secureContext: settings.context,
    requestCert: settings.requiresClientCertificate,
    rejectUnauthorized: settings.requiresClientCertificate,
  })
  const fail = (): void => void secured.destroy()
  secured.on('error', fail).on('_tlsError', fail).once('end', fail)
  // a client may renegotiate with TLS 1.2, which emits `secure` again
  secured.once('secure', () => {
    secured.off('end', fail)
    done(secured)
  })
  return secured
}
