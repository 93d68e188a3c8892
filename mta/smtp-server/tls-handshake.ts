/**
 * The server's side of a TLS handshake on an accepted socket, for STARTTLS and for ports that begin with TLS. What the
 * client sent before the handshake is not read afterwards (RFC 3207 4.2). To close the connection in its handshake,
 * destroy the returned socket, which closes both; never the one below it.
 */
import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'

export interface TlsSettings {
  readonly context: SecureContext
  /** Every handshake fails: it requires a certificate of the client, which no sender of mail has. */
  readonly failsHandshakes: boolean
}

export interface HandshakeResult {
  readonly onSecured: () => void
  /** The handshake failed, and the socket is destroyed. */
  readonly onFailed: (error: Error) => void
}

/** Starts a handshake and calls back once. It also fails if the returned socket is destroyed. */
export function startHandshake(
  socket: Socket,
  { context, failsHandshakes }: TlsSettings,
  { onSecured, onFailed }: HandshakeResult,
): TLSSocket {
  const secured = new TLSSocket(socket, {
    isServer: true,
    secureContext: context,
    requestCert: failsHandshakes,
    rejectUnauthorized: failsHandshakes,
  })
  let isOver = false
  const fail = (error = new Error('the connection ended in its TLS handshake')): void => {
    secured.destroy()
    if (!isOver) onFailed(error)
    isOver = true
  }
  const failAtEnd = (): void => fail()
  secured.on('error', fail).on('_tlsError', fail).once('end', failAtEnd).once('close', failAtEnd)
  // a client may renegotiate with TLS 1.2, which emits `secure` again
  secured.once('secure', () => {
    if (failsHandshakes) return fail(new Error('no client has an accepted certificate'))
    isOver = true
    secured.off('end', failAtEnd).off('close', failAtEnd)
    onSecured()
  })
  return secured
}
