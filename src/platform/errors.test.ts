import { checkSection } from '#test/support/generated-docs.ts'
import { ERRORS } from './errors.ts'
import { code, markdownTable } from './markdown-table.ts'

describe('error catalogue', () => {
  it('is listed in docs/reference/errors.md', () => {
    const rows = Object.entries(ERRORS).map(([name, { status, when }]) => [code(name), String(status), when])
    checkSection('reference/errors.md', 'errors', markdownTable(['Code', 'Status', 'Cause'], rows))
  })
})
