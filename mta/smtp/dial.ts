/**
 * Opens TCP connections to one IP address. Each call returns a connected socket or the reason why there is none, within
 * its time limit. It destroys a socket that did not become ready. TLS on top of it is in tls.ts.
 */
import { connect as connectTcp, isIP } from 'node:net'
import type { Socket } from 'node:net'
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

/** Waits until the socket is ready; `limitMs` later, it is destroyed. */
export function expectEvent<S extends Socket>(
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
