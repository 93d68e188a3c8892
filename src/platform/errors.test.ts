import { checkSection } from '#test/support/generated-docs.ts'
import { ERRORS, LIMIT_REASONS } from './errors.ts'
import { code, markdownTable } from './markdown-table.ts'

describe('error catalogue', () => {
  it('is listed in docs/reference/errors.md', () => {
    const rows = Object.entries(ERRORS).map(([name, { status, when }]) => [code(name), String(status), when])
    checkSection('reference/errors.md', 'errors', markdownTable(['Code', 'Status', 'Cause'], rows))
    const reasons = Object.entries(LIMIT_REASONS).map(([name, limit]) => [code(name), limit])
    checkSection('reference/errors.md', 'limit reasons', markdownTable(['Reason', 'Limit'], reasons))
  })
})
