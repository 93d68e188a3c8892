/**
 * Checks the pages of docs/ that are generated from tables in code. A test beside each table compares the page with
 * the table. After a change of the table, `UPDATE_DOCS=1 bin/mailstead test FILE` writes the page instead of comparing
 * it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { assert } from 'chai'

const DOCS = new URL('../../docs/', import.meta.url)
const HINT = 'docs differ from the table in code; UPDATE_DOCS=1 bin/mailstead test FILE writes them'

/** A page of which every line is made. `page` is a path below docs/. */
export function checkPage(page: string, expected: string): void {
  compareOrWrite(page, expected)
}

/** The part of a page between `<!-- generated: NAME -->` and `<!-- end -->`; the rest is written by hand. */
export function checkSection(page: string, name: string, expected: string): void {
  const text = readFileSync(new URL(page, DOCS), 'utf8')
  const begin = text.indexOf(`<!-- generated: ${name} -->\n`)
  const end = text.indexOf('<!-- end -->', begin)
  assert.ok(begin >= 0 && end > begin, `docs/${page} has no section "${name}"`)
  const head = text.slice(0, text.indexOf('\n', begin) + 1)
  compareOrWrite(page, `${head}\n${expected.trim()}\n\n${text.slice(end)}`)
}

function compareOrWrite(page: string, expected: string): void {
  const file = new URL(page, DOCS)
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, expected)
  else assert.strictEqual(readFileSync(file, 'utf8'), expected, `docs/${page}: ${HINT}`)
}
