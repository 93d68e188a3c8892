import type { Texts } from '#dashboard/src/texts/en/en.ts'

export const secrets: Texts['secrets'] = {
  done: 'Ich habe es gespeichert',
  once: 'Jetzt kopieren',
  onceText:
    'Es wird nur dieses eine Mal angezeigt. Speichern Sie es in einem Passwortmanager oder in den Geheimnissen Ihrer Anwendung.',
}
