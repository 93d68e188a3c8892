/** Links and paths in the documentation lead somewhere, and the index of decisions is complete. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { assert } from 'chai'

const PAGES = ['README.md', ...globSync('{docs,bench,clients}/**/*.md')].filter(
  (page) => !/\/(?:out|node_modules)\//.test(page),
)
const LINK = /\]\(([^)#\s]+)(?:#[^)]*)?\)/g
/** A path of a file or folder in code, such as `mta/delivery/deliver.ts`. */
const CODE_PATH = /`((?:api|bin|config|migrations|mta|src|test|worker)\/[\w./-]*\w)`/g

function findMissing(page: string, pattern: RegExp, folder: string): string[] {
  const targets = [...readFileSync(page, 'utf8').matchAll(pattern)].map(([, target]) => target ?? '')
  return targets.filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(folder, target)))
}

describe('the documentation', () => {
  for (const page of PAGES) {
    it(`${page} links to files that exist`, () => assert.deepEqual(findMissing(page, LINK, dirname(page)), []))
    it(`${page} names paths that exist`, () => assert.deepEqual(findMissing(page, CODE_PATH, '.'), []))
  }

  it('lists every decision by its title', () => {
    const index = readFileSync('docs/decisions/README.md', 'utf8')
    for (const file of globSync('docs/decisions/[0-9]*.md')) {
      const [, number = '', title = ''] = /^# (\d+) (.+)$/m.exec(readFileSync(file, 'utf8')) ?? []
      assert.include(index, `| [${number}](${file.slice('docs/decisions/'.length)}) | ${title} |`)
    }
  })
})
