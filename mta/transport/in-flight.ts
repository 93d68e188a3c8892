/**
 * Tracks one message while a transport delivers it: its SMTP conversation, whether it is in its transaction (the
 * session sets that), and its result when the transport stops. On abort, a message in a transaction ends with its
 * connection and reports how far it was. A message before its transaction ends at once, without a result.
 */
import type { Socket } from 'node:net'
import { LiveSet } from '#src/concurrency/live-set.ts'
import type { Mail } from '#mta/smtp/transaction.ts'
import type { Attempt, Outcome } from '#src/messages/outcome.ts'

/**
 * Called with the attempt as soon as its message is accepted, before anything else happens with the reply. It must not
 * throw.
 */
export type AcceptedListener = (attempt: Attempt) => void

export interface InFlightDelivery {
  readonly mail: Mail
  /** The lines of the SMTP conversation so far. */
  readonly lines: string[]
  isInTransaction: boolean
  isAborted: boolean
  readonly aborted: PromiseWithResolvers<null>
}

export function newInFlightDelivery(mail: Mail): InFlightDelivery {
  return { mail, lines: [], isInTransaction: false, isAborted: false, aborted: Promise.withResolvers<null>() }
}

export interface InFlightDeliveries {
  readonly isAborted: boolean
  /** Registers a connection that the transport opened, so that abort can close it. */
  watch(socket: Socket): void
  /** Waits for the delivery. Returns null if it was aborted and the receiver cannot have the message. */
  run<D extends { readonly outcome: Outcome }>(delivery: InFlightDelivery, result: Promise<D | null>): Promise<D | null>
  /** Aborts all deliveries. A message that the receiver may have ends as `unknown`; the others end at once. */
  abort(): void
  /** Closes the connections that use this local address. */
  closeFrom(address: string): void
}

export function createInFlightDeliveries(): InFlightDeliveries {
  const inFlight = new LiveSet<InFlightDelivery>()
  const sockets = new Set<Socket>()
  let isAborted = false
  return {
    get isAborted() {
      return isAborted
    },
    watch: (socket) => {
      if (isAborted) socket.destroy()
      else sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    },
    run: async (delivery, result) => {
      inFlight.add(delivery)
      const finished = await Promise.race([result, delivery.aborted.promise])
      inFlight.delete(delivery)
      return finished === null || (delivery.isAborted && finished.outcome.kind === 'deferred') ? null : finished
    },
    abort: () => {
      isAborted = true
      for (const delivery of inFlight) abortDelivery(delivery)
      for (const socket of sockets) socket.destroy()
    },
    closeFrom: (address) => {
      for (const socket of sockets) if (socket.localAddress === address) socket.destroy()
    },
  }
}

function abortDelivery(delivery: InFlightDelivery): void {
  delivery.isAborted = true
  if (!delivery.isInTransaction) delivery.aborted.resolve(null)
}
