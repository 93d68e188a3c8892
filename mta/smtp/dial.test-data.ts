/** The settings and the expected failure of sessions that are opened on real connections. */
import { assert } from 'chai'
import type { OpenResult, SessionSettings } from './open.ts'
import { chooseTimeouts } from './timeouts.ts'

export const SOON = 60

export const SETTINGS: SessionSettings = {
  ehloName: 'out.test',
  tls: 'opportunistic',
  rejectUnauthorized: false,
  timeouts: chooseTimeouts({ tls: 2000 }),
}

export function failure(opened: OpenResult): object {
  return opened.ok ? assert.fail('it connected') : opened.failure
}
