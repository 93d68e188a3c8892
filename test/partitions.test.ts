/**
 * A prepared statement has one plan for all weeks, so it must name the weeks that it reads (src/stores/weeks.ts). This
 * finds those that read or change a partitioned table and do not. test/flows/partitions.test.ts counts the partitions.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { ROOT } from './source-imports.ts'

const TABLES = '(messages|recipients|attempts|events|attachments|message_bodies|message_tags)'
const READS = new RegExp(String.raw`\b(?:FROM|JOIN|UPDATE|USING)\s+${TABLES}\b(?!\s*\()`)
const PREPARED = /\b(?:prepared|urgent)\(\s*'([^']+)',\s*(?:sql)?[`']([^`]*?)[`'],?\s*\)/g
const WEEKLY = /\bweekly\(\s*'([^']+)',\s*\((\w*)\) => (?:sql)?`([^`]*)`/g

function statementsIn(pattern: RegExp): { readonly name: string; readonly text: string }[] {
  return globSync('{src,mta,api,worker}/**/*.ts', { cwd: ROOT })
    .filter((file) => !/\.test(-data)?\.ts$/.test(file))
    .flatMap((file) => [...readFileSync(join(ROOT, file), 'utf8').matchAll(pattern)])
    .map((match) => ({ name: match[1] ?? '', text: match.at(-1) ?? '' }))
}

/** Where a statement reads a partitioned table. */
function readsIn(text: string): string[] {
  return [...text.matchAll(new RegExp(READS, 'g'))].map(([found]) => found)
}

describe('prepared statements on partitioned tables', () => {
  it('are bounded to weeks', () => {
    const found = statementsIn(PREPARED)
    assert.isAbove(found.length, 50, 'the pattern does not find the statements any more')
    assert.deepEqual(
      found.filter(({ text }) => readsIn(text).length > 0).map(({ name }) => name),
      [],
      'use `weekly` (src/stores/weeks.ts)',
    )
  })

  it('have a bound for each table that they name', () => {
    const found = statementsIn(WEEKLY)
    assert.isAbove(found.length, 10, 'the pattern does not find the statements any more')
    assert.deepEqual(
      found.filter(({ text }) => readsIn(text).length > (text.match(/weeks\.\w+\(/g)?.length ?? 0)),
      [],
    )
  })
})
