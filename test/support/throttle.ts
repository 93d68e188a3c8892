/** A throttle with a given share, for tests without Redis. */
import { Throttle } from '#mta/shaping/throttle.ts'
import type { ShapingReceiver } from '#src/shaping/shaping-file.ts'
import { UNLEARNED, type LearnedLimit } from '#src/shaping/learned-limits.ts'

const RECEIVER: ShapingReceiver = {
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

interface ThrottleOptions extends Partial<Pick<ShapingReceiver, 'messageRate' | 'connectionRate' | 'connections'>> {
  readonly share: { readonly instant: number; readonly others: number }
  readonly learned?: LearnedLimit
}

export function throttleWith({ share, learned = UNLEARNED, ...receiver }: ThrottleOptions): Throttle {
  const throttle = new Throttle('default/mx.test', 'default', { receiver: { ...RECEIVER, ...receiver }, learned })
  throttle.applyGrant({ ...share, processes: 1, learned, version: 1, messages: 0, connections: 0, waitMs: 0 }, 0)
  return throttle
}
