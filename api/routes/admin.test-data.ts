/** Filters of the operator's queue endpoints. */
import { newId } from '#src/platform/id.ts'

/** A campaign of the other workspace. */
export const CAMPAIGN = newId()

/** A filter, and which of the stored messages it finds; `OTHER` stands for the id of the other workspace. */
export const FILTERS: readonly [query: string, found: readonly string[]][] = [
  ['', ['one', 'two', 'three', 'old']],
  ['domain=A.example', ['one']],
  ['site=mx.shared.example', ['one', 'two']],
  ['workspace=OTHER', ['two', 'three']],
  [`campaign=${CAMPAIGN}`, ['two']],
  ['tier=async', ['one', 'old']],
  ['tier=bulk&domain=a.example', []],
  ['state=deferred', []],
  ['older_than=1h', []],
  ['older_than=0s', ['one', 'two', 'three', 'old']],
  ['limit=1', ['one']],
]

/** Filters with an invalid field. */
export const WRONG: readonly string[] = [
  'tier=slow',
  'state=delivered',
  'workspace=nobody',
  'campaign=x',
  'message=x',
  'older_than=yesterday',
  'domain=a%20b',
  'cursor=x',
]
