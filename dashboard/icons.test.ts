import { readFileSync } from 'node:fs'
import { assert } from 'chai'
import { generateIcons, ICONS_FILE } from './generate-icons.ts'

describe('the icons of the dashboard', () => {
  it('are those that it uses', () => {
    const isCurrent = readFileSync(ICONS_FILE, 'utf8') === generateIcons()
    assert.ok(isCurrent, 'src/ui/icons.tsx is outdated: run `node dashboard/generate-icons.ts`')
  })
})
