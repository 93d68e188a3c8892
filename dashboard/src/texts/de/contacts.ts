export { contacts } from '#dashboard/src/texts/en/contacts.ts'
