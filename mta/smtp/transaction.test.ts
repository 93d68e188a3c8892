import { runDialog } from '#test/support/smtp-dialogs.ts'
import { TRANSACTION_DIALOGS } from './transaction.test-data.ts'

for (const [name, dialogs] of Object.entries(TRANSACTION_DIALOGS))
  describe(`a transaction, ${name}: dialogs`, () => {
    for (const dialog of dialogs) it(`${dialog.n}. ${dialog.title}`, () => runDialog(dialog))
  })
