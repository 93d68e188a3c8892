/**
 * The origin of messages that a request accepts: the request's id and span are stored with each of them, whichever
 * endpoint accepts it, and the request remembers which messages it accepted, for its line of the access log. The
 * process dies before the commit: nothing is stored, and there is no line.
 */
import type { Acceptor } from '#src/messages/accept.ts'
import type { MessageOrigin } from '#src/messages/submission.ts'

/** The messages that a request accepted so far. */
export interface AcceptedMessages {
  count: number
  /** The id of the first one. */
  first: string | null
}

/** An acceptor for one request. A replayed or refused message is not counted. */
export function acceptorForRequest(acceptor: Acceptor, origin: MessageOrigin, accepted: AcceptedMessages): Acceptor {
  return {
    accept: async (submission) => {
      const result = await acceptor.accept({ ...submission, origin })
      if (result.kind === 'stored' && accepted.count++ === 0) accepted.first = submission.id
      return result
    },
    drain: () => acceptor.drain(),
    batches: acceptor.batches,
  }
}
