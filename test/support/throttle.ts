/** A pace with a share that is said, for tests that need no Redis. */
import { Pace } from '#mta/shaping/throttle.ts'
import type { Receiver } from '#src/shaping/shaping-file.ts'
import { UNLEARNED, type Learned } from '#src/shaping/learned-limits.ts'

const RECEIVER: Receiver = {
  name: 'default',
  title: 'any receiver',
  mx: [],
  domains: [],
  isProviderWide: false,
  isForAllSources: false,
  connections: 10,
  messagesPerConnection: 100,
  messageRate: null,
  connectionRate: null,
}

interface Order extends Partial<Pick<Receiver, 'messageRate' | 'connectionRate' | 'connections'>> {
  readonly share: { readonly instant: number; readonly others: number }
  readonly learned?: Learned
}

export function paceWith({ share, learned = UNLEARNED, ...receiver }: Order): Pace {
  const pace = new Pace('default/mx.test', 'default', { receiver: { ...RECEIVER, ...receiver }, learned })
  pace.grant({ ...share, processes: 1, learned, version: 1, messages: 0, connections: 0, waitMs: 0 }, 0)
  return pace
}
