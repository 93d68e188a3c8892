/**
 * Delivery by one of our own addresses, which was chosen before the message waited for its turn (mta/scheduling/source-selection.ts). A source whose address
 * turns out to have left the machine is not a matter of the message: it is given back, and goes by another at once. The operator's own next
 * hops are reached by whatever address the system chooses.
 */
import type { Egress } from '#mta/egress/source-choice.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import type { Direct, Job } from './direct.ts'
import { SOURCE_LOST } from './connect.ts'

export interface Transport extends Omit<Direct, 'cutFrom'> {
  /** Null when `abort` cut it short and the receiver cannot have the message, or its source is gone: nothing came of it. */
  deliver(job: Job): Promise<Attempt | null>
}

interface Means {
  readonly direct: Direct
  readonly egress: Pick<Egress, 'onGone' | 'lookAgain' | 'isGone'>
}

export function createTransport({ direct, egress }: Means): Transport {
  egress.onGone((address) => direct.cutFrom(address))
  return {
    deliver: async (job) => {
      const attempt = await direct.deliver(job)
      if (attempt === null || !isSourceLost(attempt)) return attempt
      await egress.lookAgain()
      // no local port being left looks the same: then the source is there, and the message waits
      return job.ways.some(({ source }) => egress.isGone(source)) ? null : attempt
    },
    abort: () => direct.abort(),
    close: () => direct.close(),
  }
}

function isSourceLost({ outcome }: Attempt): boolean {
  return outcome.kind === 'deferred' && outcome.reason === SOURCE_LOST
}
