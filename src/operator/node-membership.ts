/**
 * Reports a process as part of its node, every few seconds, and reports to the process when its node is to be drained
 * or used again, and which sources the others have. PostgreSQL away: the last state counts, and the process is listed
 * as silent.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import { newId } from '#src/platform/id.ts'
import { softwareVersion } from '#src/platform/version.ts'
import { removeProcess, reportProcess } from './nodes.ts'

/** A drain has 30 s, and a stop of the outbound role needs up to 26 s of them. */
const INTERVAL_MS = 2000
const FIRST_REPORT_MS = 2000

export interface MembershipOptions {
  readonly roles: readonly string[]
  /** The IP addresses that the process sends from. */
  readonly sources?: () => readonly string[]
  /** Whether everything that a drain stops is stopped. */
  readonly isDrained?: () => boolean
  /** Called when it changes, and if the node is being drained when the process starts. */
  readonly onDraining?: (isDraining: boolean) => void
  /** Called after each report with the sources of every other running process that sends. */
  readonly onOtherSources?: (sources: readonly (readonly string[])[]) => void
}

export interface NodeMembership {
  /** Resolves after the first report, or after a short time while PostgreSQL does not answer. */
  readonly reported: Promise<void>
  readonly isDraining: boolean
  stop(): Promise<void>
}

type MembershipDeps = Pick<Context, 'db' | 'config' | 'log'>

export function startNodeMembership(
  { db, config, log }: MembershipDeps,
  {
    roles,
    sources = () => [],
    isDrained = () => true,
    onDraining = () => undefined,
    onOtherSources = () => undefined,
  }: MembershipOptions,
): NodeMembership {
  const id = newId()
  let isDraining = false
  let isReporting: Promise<void> | null = null

  async function report(): Promise<void> {
    const { isDraining: wanted, otherSources } = await reportProcess(db, {
      id,
      node: config.nodeName,
      roles,
      version: softwareVersion(),
      sources: sources(),
      isDrained: isDraining && isDrained(),
    })
    onOtherSources(otherSources)
    if (wanted === isDraining) return
    isDraining = wanted
    log.info({ node: config.nodeName }, wanted ? 'the node is being drained' : 'the node is in use again')
    onDraining(wanted)
  }

  function reportQuietly(): void {
    isReporting ??= report()
      .catch((error: unknown) => log.debug({ err: error }, 'failed to report this process; it is repeated'))
      .finally(() => {
        isReporting = null
      })
  }

  const timer = setInterval(reportQuietly, INTERVAL_MS)
  reportQuietly()
  return {
    reported: Promise.race([isReporting ?? Promise.resolve(), sleep(FIRST_REPORT_MS, undefined, { ref: false })]),
    get isDraining() {
      return isDraining
    },
    stop: async () => {
      clearInterval(timer)
      await isReporting
      await removeProcess(db, id).catch((error: unknown) =>
        log.debug({ err: error }, 'failed to remove this process from its node; it is listed as silent'),
      )
    },
  }
}
