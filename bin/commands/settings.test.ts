import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { SETTINGS } from '#config/schema.ts'
import { runCommand } from '#test/support/command.ts'
import { run, settingsPage } from './settings.ts'

describe('mailstead settings', () => {
  it('prints docs/settings.md (else: bin/mailstead settings > docs/settings.md)', async () => {
    const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8')
    assert.equal(settingsPage(), page)
    assert.deepEqual(await runCommand(run, []), { code: 0, out: page, err: '' })
  })

  it('has a row for every setting', () => {
    for (const { env, reason } of Object.values(SETTINGS))
      assert.equal(settingsPage().includes(`| \`${env}\` |`) && settingsPage().includes(reason), true, env)
  })
})
