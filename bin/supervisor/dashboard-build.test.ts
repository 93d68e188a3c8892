import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { buildDashboard } from './dashboard-build.ts'

describe('the build of the dashboard at the start', () => {
  const folder = mkdtempSync('/tmp/mailstead-dashboard-build-')
  after(() => rmSync(folder, { recursive: true }))

  const program = (text: string): string => {
    const file = join(folder, `${text.length}.mjs`)
    writeFileSync(file, text)
    return file
  }

  it('reports nothing when it succeeds, or in a package, which has no program for it', async () => {
    assert.isNull(await buildDashboard(program('process.exit(0)')))
    assert.isNull(await buildDashboard(join(folder, 'missing.mjs')))
  })

  it('runs in the environment of the start, with small pages of memory', async () => {
    const text = 'const { MIMALLOC_ALLOW_THP: pages, PATH } = process.env; process.exit(pages === "0" && PATH ? 0 : 1)'
    assert.isNull(await buildDashboard(program(text)))
  })

  it('reports why it failed, and does not throw', async () => {
    const reported = await buildDashboard(program('console.error("no such module: vite"); process.exit(1)'))
    assert.include(String(reported), 'no such module: vite')
    assert.include(String(reported), 'npm run build:dashboard')
  })
})
