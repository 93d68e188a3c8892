/** Checks of domains while time goes by. */
import { assert } from 'chai'
import type { Domain } from '#src/domains/domains.ts'
import type { DomainTestbed } from './domain-testbed.ts'

const MINUTE = 60_000

export interface DomainChecks {
  advance(ms: number): void
  /** Back to now: there are partitions for the next weeks only. */
  reset(): void
  /** Time goes by, in steps in which the loop looks at what is due. */
  pass(ms: number, stepMs?: number): Promise<void>
  /** A new domain with all records, found by a check. */
  addVerified(workspaceId: string): Promise<Domain>
}

/** `check` is a round of the worker. */
export function createDomainChecks(testbed: DomainTestbed, check: () => Promise<unknown>): DomainChecks {
  let passedMs = 0
  const advance = (ms: number): void => {
    passedMs += ms
    testbed.ctx.advance(ms)
  }
  const pass = async (ms: number, stepMs = ms): Promise<void> => {
    for (let left = ms; left > 0; left -= stepMs) {
      advance(Math.min(stepMs, left))
      await check()
    }
  }
  return {
    advance,
    pass,
    reset: () => advance(-passedMs),
    addVerified: async (workspaceId) => {
      const domain = await testbed.add(workspaceId)
      testbed.publish(domain)
      await pass(3 * MINUTE)
      assert.strictEqual((await testbed.read(domain)).status, 'verified')
      return domain
    },
  }
}
