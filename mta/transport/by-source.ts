/**
 * Delivery by one of our own addresses: chooses where each message leaves from (mta/egress), hands it to `direct`, and tells what came of
 * it. A message that no source can take now is held. A source whose address turns out to have left the machine is passed over at once, by
 * the same message too. The operator's own next hops are reached by whatever address the system chooses.
 */
import type { Egress } from '#mta/egress/egress.ts'
import type { Attempt } from '#src/messages/outcome.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import type { Direct, Job } from './direct.ts'
import { SOURCE_LOST } from './opening.ts'

/** A job that does not know yet where it leaves from. */
export interface Letter extends Omit<Job, 'ways'> {
  readonly messageId: string
  /** The recipient's. */
  readonly domain: string
  readonly pool: string
}

export interface Transport extends Omit<Direct, 'deliver' | 'cutFrom'> {
  /** Null when `abort` cut it short and the receiver cannot have the message: nothing came of it. */
  deliver(letter: Letter): Promise<Attempt | null>
}

/** Sources that one message may find gone, one after the other. */
const MOST_LOST = 5

interface Means {
  readonly direct: Direct
  readonly egress: Egress
  readonly now: () => number
}

export function createTransport(means: Means): Transport {
  means.egress.onGone((address) => means.direct.cutFrom(address))
  return {
    deliver: (letter) => {
      const isToOurs = letter.hosts.every(({ isOurs }) => isOurs)
      return isToOurs ? means.direct.deliver({ ...letter, ways: [means.egress.system] }) : leave(means, letter)
    },
    abort: () => means.direct.abort(),
    close: () => means.direct.close(),
  }
}

async function leave({ direct, egress, now }: Means, letter: Letter): Promise<Attempt | null> {
  const { messageId, pool, domain, hosts } = letter
  for (let lost = 0; ; lost++) {
    const choice = await egress.choose({ messageId, pool, receiver: () => receiverOf(hosts[0]?.name ?? null, domain) })
    if (choice.kind === 'wait') return held(choice, now())
    const attempt = await direct.deliver({ ...letter, ways: choice.ways })
    choice.done(attempt)
    if (attempt === null || !isSourceLost(attempt) || lost === MOST_LOST) return attempt
    await egress.lookAgain()
  }
}

function isSourceLost({ outcome }: Attempt): boolean {
  return outcome.kind === 'deferred' && outcome.reason === SOURCE_LOST
}

function held({ detail, untilMs }: { readonly detail: string; readonly untilMs: number }, now: number): Attempt {
  return {
    outcome: { kind: 'held', reason: 'no-source', detail, untilMs }, startedAt: now, durationMs: 0,
    host: null, address: null, source: null, tls: null, conversation: `-- ${detail}`,
  }
}
