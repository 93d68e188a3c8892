/**
 * Wakes the outbound role on messages that other processes publish in Redis: mail became due or ready, suspensions,
 * shaping, connection tests, dry runs. A message published while a connection was away is lost, so everything is
 * checked again when it is back.
 */
import type { DryRunWorker } from '#mta/dry-run/dry-run-worker.ts'
import type { Dispatcher } from '#mta/scheduling/dispatcher.ts'
import type { SiteQueues } from '#mta/scheduling/site-queues.ts'
import type { Throttles } from '#mta/shaping/throttles.ts'
import type { ConnectedAccounts } from '#mta/transport/connected-accounts.ts'
import type { Context } from '#src/context.ts'
import {
  ACCOUNT_TESTS_CHANNEL,
  DRY_RUN_CHANNEL,
  DUE_CHANNEL,
  READY_CHANNEL,
  READY_OTHERS_CHANNEL,
  SHAPING_CHANNEL,
  SUSPENSIONS_CHANNEL,
} from '#src/queue/keys.ts'
import type { SuspensionWatch } from '#src/queue/suspensions.ts'
import { subscribeToChannels, type Redis } from '#src/stores/redis.ts'

interface WakeUpTargets {
  readonly dispatcher: Dispatcher
  readonly queues: SiteQueues
  readonly suspensions: SuspensionWatch
  readonly throttles: Throttles
  readonly accounts: ConnectedAccounts
  readonly dryRuns: DryRunWorker
}

/** Returns the subscribed connection; disconnect it to stop. */
export function subscribeToWakeUps(
  ctx: Pick<Context, 'log' | 'redis'>,
  redisUrl: string,
  targets: WakeUpTargets,
): Redis {
  const { dispatcher, queues, suspensions, throttles, accounts, dryRuns } = targets
  const handlers: Readonly<Record<string, (message: string) => void>> = {
    [DUE_CHANNEL]: (tier) => dispatcher.wakeTier(tier),
    [READY_CHANNEL]: (site) => queues.wake(site, true),
    [READY_OTHERS_CHANNEL]: (site) => queues.wake(site, false),
    [ACCOUNT_TESTS_CHANNEL]: (id) => accounts.handleTestRequest(id),
    [DRY_RUN_CHANNEL]: () => dryRuns.wake(),
    [SHAPING_CHANNEL]: () => void throttles.refresh(),
    [SUSPENSIONS_CHANNEL]: () => void suspensions.refresh(),
  }
  const catchUp = (): void => {
    void suspensions.refresh()
    void throttles.refresh()
    dispatcher.wakeTier('all')
  }
  const subscriber = subscribeToChannels(redisUrl, ctx.log, handlers, catchUp)
  // either of the two connections may be back first
  ctx.redis.on('ready', catchUp)
  subscriber.once('end', () => ctx.redis.off('ready', catchUp))
  return subscriber
}
