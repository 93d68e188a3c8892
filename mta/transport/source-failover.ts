/**
 * Delivers through a source that was selected before the message waited in its queue
 * (mta/scheduling/source-selection.ts). If the source's address is no longer on this machine, the delivery returns
 * null: the scheduler releases the message and tries another source at once. Hosts of the operator's transport map are
 * reached from any address that the system chooses.
 */
import type { Egress } from '#mta/egress/source-choice.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { DirectTransport, DirectJob } from './direct.ts'
import { SOURCE_LOST } from './connect.ts'

export interface Transport extends Omit<DirectTransport, 'closeFrom'> {
  /** Null if `abort` ended it and the receiver cannot have the message, or if the source is gone: not an attempt. */
  deliver(job: DirectJob): Promise<Attempt | null>
}

interface SourceFailoverDeps {
  readonly direct: DirectTransport
  readonly egress: Pick<Egress, 'onAddressLost' | 'recheckAddresses' | 'isUnavailable'>
}

export function createTransport({ direct, egress }: SourceFailoverDeps): Transport {
  egress.onAddressLost((address) => direct.closeFrom(address))
  return {
    deliver: async (job) => {
      const attempt = await direct.deliver(job)
      if (attempt === null || !isSourceLost(attempt)) return attempt
      await egress.recheckAddresses()
      // running out of local ports gives the same error: the source still exists, and the message is deferred
      return job.endpoints.some(({ source }) => egress.isUnavailable(source)) ? null : attempt
    },
    abort: () => direct.abort(),
    close: () => direct.close(),
  }
}

function isSourceLost({ outcome }: Attempt): boolean {
  return outcome.kind === 'deferred' && outcome.reason === SOURCE_LOST
}
