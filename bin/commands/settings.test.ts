import { existsSync } from 'node:fs'
import { assert } from 'chai'
import { SETTING_GROUPS, SETTINGS } from '#config/schema.ts'
import { runCommand } from '#test/support/command.ts'
import { checkPage } from '#test/support/generated-docs.ts'
import { run, settingsPage } from './settings.ts'

describe('mailstead settings', () => {
  it('prints docs/reference/settings.md', async () => {
    checkPage('reference/settings.md', settingsPage())
    assert.deepEqual(await runCommand(run, []), { code: 0, out: settingsPage(), err: '' })
  })

  it('prints every setting as JSON', async () => {
    const { code, out } = await runCommand(run, ['--json'])
    const rows = JSON.parse(out) as { name: string; group: string }[]
    assert.strictEqual(code, 0)
    assert.deepEqual(
      rows.map(({ name }) => name).toSorted(),
      Object.values(SETTINGS)
        .map(({ env }) => env)
        .toSorted(),
    )
    assert.deepInclude(
      rows.find(({ name }) => name === 'HTTP_PORT'),
      { group: 'API and pages', default: '3000', unit: null, description: 'Port of the REST API and pages.' },
    )
  })

  it('repeats the description as `reason`, which earlier releases printed', async () => {
    const { out } = await runCommand(run, ['--json'])
    for (const { description, reason } of JSON.parse(out) as { description: string; reason: string }[])
      assert.strictEqual(reason, description)
  })
})

describe('the table of settings', () => {
  const rows = SETTING_GROUPS.flatMap(({ settings }) => Object.entries(settings))

  it('has every row in one group', () => {
    assert.deepEqual(Object.fromEntries(rows), SETTINGS)
    assert.strictEqual(rows.length, Object.keys(SETTINGS).length)
  })
  it('describes each setting in sentences', () => {
    for (const [, { env, description }] of rows) assert.match(description, /^[A-Z`].*\.$/s, env)
  })
  it('names guides that exist', () => {
    for (const [, { env, guide }] of rows)
      if (guide !== undefined)
        assert.ok(existsSync(new URL(`../../docs/guides/${guide}.md`, import.meta.url)), `${env}: ${guide}`)
  })
})
