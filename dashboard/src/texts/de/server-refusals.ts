import type { ServerTexts } from '#dashboard/src/texts/en/server.ts'

/** Why the server refuses a request. */
export const refusals: ServerTexts = {
  'refusal.import_too_large': 'Die Datei ist größer als {max} Byte. Teilen Sie sie auf.',
  'refusal.imports_open':
    '{max} Importe warten oder laufen schon. Warten Sie, bis einer endet, oder brechen Sie einen ab.',
  'refusal.import_cancelled':
    'Der Import wurde während des Hochladens abgebrochen. Beginnen Sie bei Bedarf einen neuen.',
  'refusal.import_ended': 'Der Import ist schon beendet.',
  'refusal.no_import': 'Diesen Import gibt es nicht. Importe sind 30 Tage lang gespeichert.',
  'refusal.body_unread': 'Der Dienst kann die Daten gerade nicht lesen. Versuchen Sie es erneut.',
  'refusal.not_stored': 'Der Dienst kann gerade nichts speichern. Versuchen Sie es erneut.',
  'refusal.internal':
    'Auf dem Server ist ein Fehler aufgetreten. Versuchen Sie es erneut, oder melden Sie die Anfragenummer {id}.',
  'refusal.no_endpoint': 'Der Server kennt diese Anfrage nicht. Laden Sie die Seite neu.',
  'refusal.other_method': 'Der Server kennt diese Anfrage nicht. Laden Sie die Seite neu.',
  'refusal.body_too_large': 'Die Anfrage ist größer als {max} Byte. Senden Sie weniger auf einmal.',
  'refusal.body_type': 'Diese Art von Datei wird nicht angenommen. Möglich ist {types} in UTF-8.',
  'refusal.body_coding': 'Diese Komprimierung wird nicht angenommen. Möglich ist nur gzip.',
  'refusal.busy': 'Gerade kommen zu viele große Anfragen gleichzeitig an. Versuchen Sie es erneut.',
  'refusal.person_rate': 'Erlaubt sind {max} Anfragen in 10 Sekunden. Warten Sie {seconds} s.',
  'refusal.idempotency_mismatch': 'Diese Anfrage wurde schon mit anderen Angaben gesendet. Laden Sie die Seite neu.',
  'refusal.idempotency_in_progress': 'Dieselbe Anfrage läuft noch. Warten Sie einen Augenblick.',
  'refusal.other_site':
    'Die Anfrage kam von einer anderen Website, oder der Browser nennt sie nicht. Benutzen Sie die Seiten dieses Dienstes.',
  'refusal.from_other_site': 'Die Anfrage kam von einer anderen Website. Benutzen Sie die Seiten dieses Dienstes.',
  'refusal.for_programs': 'Das können nur Programme, mit einem API-Schlüssel.',
  'refusal.for_operators': 'Das dürfen nur Betreiber. Bitten Sie einen von ihnen.',
  'refusal.role_lacks':
    'Ihrer Rolle fehlt die Berechtigung {permission}. Wenden Sie sich an einen Inhaber oder Administrator des Arbeitsbereichs.',
  'refusal.role_does_not_include':
    'Ihre Rolle umfasst {scopes} nicht. Wenden Sie sich an einen Inhaber des Arbeitsbereichs.',
  'refusal.role_above': 'Die Rolle {role} steht über Ihrer. Bitten Sie ein Mitglied, das sie hat.',
  'refusal.needs_second_factor':
    'Dieser Dienst verlangt einen zweiten Faktor. Fügen Sie zuerst in Ihrem Konto einen hinzu.',
  'refusal.suspended': 'Dieser Arbeitsbereich ist ausgesetzt. Fragen Sie den Betreiber dieses Dienstes nach dem Grund.',
  'refusal.needs_launch':
    'Das braucht den Tarif LAUNCH oder einen höheren. Bitten Sie den Betreiber um einen anderen Tarif.',
  'refusal.compile_rate':
    'Die Vorlagen dieses Arbeitsbereichs brauchten zu viel Rechenzeit. Warten Sie {seconds} s. Teilen Sie die größte MJML-Vorlage auf, oder senden Sie sie als HTML.',
  'refusal.signed_out': 'Sie sind nicht angemeldet, oder die Sitzung ist beendet. Melden Sie sich neu an.',
  'refusal.needs_login': 'Melden Sie sich zuerst an.',
  'refusal.wrong_password': 'Die E-Mail-Adresse oder das Passwort ist falsch.',
  'refusal.wrong_present_password': 'Das jetzige Passwort ist falsch.',
  'refusal.sign_in_rate': 'Zu viele Versuche, sich anzumelden. Warten Sie {seconds} s.',
  'refusal.sign_in_busy': 'Gerade melden sich zu viele Personen an. Versuchen Sie es erneut.',
  'refusal.recent_login':
    'Dafür müssen Sie sich in den letzten {minutes} Minuten angemeldet haben. Melden Sie sich neu an.',
  'refusal.last_login_method':
    'Sie könnten sich dann nicht mehr anmelden. Fügen Sie zuerst eine andere Anmeldemethode hinzu.',
  'refusal.no_login_method': 'Diese Anmeldemethode gibt es nicht.',
  'refusal.no_session': 'Diese Sitzung gibt es nicht, oder sie ist schon beendet.',
  'refusal.wrong_code': 'Der Code oder Passkey ist falsch oder wurde schon benutzt. Versuchen Sie den nächsten Code.',
  'refusal.wrong_totp': 'Der Code ist falsch. Prüfen Sie die Uhr des Geräts, und geben Sie den nächsten Code ein.',
  'refusal.wrong_code_rate': 'Zu viele falsche Codes. Warten Sie {seconds} s.',
  'refusal.code_rate': 'Zu viele Codes. Warten Sie {seconds} s.',
  'refusal.login_ended': 'Diese Anmeldung ist beendet oder länger als zehn Minuten her. Beginnen Sie neu.',
  'refusal.totp_ended': 'Seit dem Beginn sind zehn Minuten vergangen. Beginnen Sie neu.',
  'refusal.totp_exists': 'Sie haben schon eine Authenticator-App. Entfernen Sie sie zuerst.',
  'refusal.no_second_factor': 'Sie haben keinen zweiten Faktor. Fügen Sie zuerst einen hinzu.',
  'refusal.passkeys_need_host':
    'Passkeys brauchen eine PUBLIC_URL mit einem Hostnamen. Benutzen Sie eine andere Anmeldemethode.',
  'refusal.passkey_unknown': 'Dieser Passkey ist hier nicht bekannt, oder die Anmeldung ist beendet. Beginnen Sie neu.',
  'refusal.passkey_ended':
    'Seit dem Beginn sind zehn Minuten vergangen, oder der Passkey wurde schon hinzugefügt. Beginnen Sie neu.',
  'refusal.passkey_invalid': 'Die Antwort des Geräts ist hier ungültig. Beginnen Sie neu.',
  'refusal.passkey_exists': 'Dieser Passkey ist schon hinzugefügt.',
  'refusal.passkey_rate': 'Zu viele Anmeldungen mit Passkeys. Warten Sie {seconds} s.',
  'refusal.provider_rate': 'Zu viele Anmeldungen wurden begonnen. Warten Sie {seconds} s.',
  'refusal.no_provider': 'Diesen Anmeldedienst gibt es nicht.',
  'refusal.provider_away': 'Der Anmeldedienst antwortet nicht richtig. Versuchen Sie es später erneut.',
  'refusal.provider_not_connected':
    '{address} hat ein Konto, das nicht mit {label} verbunden ist. Melden Sie sich mit dem Passwort an, und verbinden Sie {label} in Ihrem Konto.',
  'refusal.provider_bad_state':
    'Diese Anmeldung wurde nicht in diesem Browser begonnen, ist abgelaufen oder wurde schon benutzt. Beginnen Sie neu.',
  'refusal.provider_declined': 'Der Anmeldedienst hat Sie nicht angemeldet. Beginnen Sie neu, und stimmen Sie dort zu.',
  'refusal.provider_unverified':
    'Der Anmeldedienst hat Ihre E-Mail-Adresse nicht bestätigt. Bestätigen Sie sie zuerst dort.',
  'refusal.provider_other_domain':
    'Die Domain Ihrer E-Mail-Adresse darf sich hier nicht anmelden. Benutzen Sie eine andere Adresse.',
  'refusal.provider_no_account':
    'Sie haben hier kein Konto. Bitten Sie ein Mitglied Ihres Arbeitsbereichs um eine Einladung.',
  'refusal.provider_taken':
    'Diese Anmeldung gehört zu einem anderen Konto. Melden Sie sich damit an, und entfernen Sie sie zuerst dort.',
  'refusal.account_disabled': 'Dieses Konto ist gesperrt. Fragen Sie den Betreiber dieses Dienstes.',
  'refusal.invitation_at_provider':
    'Diese Einladung gilt für {address}. Melden Sie sich bei {label} mit dieser Adresse an.',
  'refusal.invitation_for_another':
    'Diese Einladung gilt für {address}. Melden Sie sich ab, und öffnen Sie diesen Link dann erneut.',
  'refusal.invitation_used':
    'Diese Einladung wurde benutzt, wurde zurückgezogen oder ist zu alt. Bitten Sie um eine neue.',
  'refusal.link_used':
    'Dieser Link wurde benutzt, wurde zurückgezogen oder ist zu alt. Bitten Sie seinen Absender um einen neuen.',
  'refusal.link_of_address_used': 'Dieser Link wurde benutzt oder ist zu alt. Ändern Sie die Adresse erneut.',
  'refusal.link_of_route_used':
    'Dieser Link wurde benutzt oder ersetzt, oder er ist zu alt. Bitten Sie um einen neuen.',
  'refusal.link_from_other_site':
    'Die Anfrage kam von einer anderen Website. Öffnen Sie den Link der Mail, und bestätigen Sie dort.',
  'refusal.link_rate': 'Zu viele Links wurden angefordert. Warten Sie {seconds} s.',
  'refusal.has_account':
    '{address} hat schon ein Konto. Melden Sie sich damit an, und öffnen Sie diesen Link dann erneut.',
  'refusal.sign_in_to_confirm':
    'Melden Sie sich mit dem Konto an, dessen Adresse sich ändert, und öffnen Sie diesen Link dann erneut.',
  'refusal.address_taken_confirm': 'Ein anderer Benutzer hat diese Adresse. Nehmen Sie eine andere.',
  'refusal.no_invitation': 'Diese offene Einladung gibt es nicht.',
  'refusal.invitation_rate': 'Möglich sind höchstens {max} Einladungen am Tag. Warten Sie {seconds} s.',
  'refusal.member_already': '{address} ist schon Mitglied. Ändern Sie die Rolle.',
  'refusal.no_member': 'Dieses Mitglied gibt es in diesem Arbeitsbereich nicht.',
  'refusal.last_owner':
    'Das ist der letzte Inhaber des Arbeitsbereichs. Ändern Sie zuerst die Rolle eines anderen Mitglieds.',
  'refusal.no_mail_to_confirm':
    'Dieser Dienst kann keine Mail zur Bestätigung senden. Bitten Sie einen Betreiber, die Adresse zu ändern.',
  'refusal.own_last_operator': 'Sie sind der letzte Betreiber. Laden Sie zuerst einen anderen ein.',
  'refusal.own_last_owner':
    'Sie sind der letzte Inhaber eines Arbeitsbereichs. Machen Sie zuerst ein anderes Mitglied zum Inhaber.',
  'refusal.address_rate': 'Möglich sind höchstens {max} neue Adressen am Tag. Warten Sie {seconds} s.',
  'refusal.password_rate': 'Zu viele Anfragen nach Passwörtern. Warten Sie {seconds} s.',
  'refusal.no_further_workspaces':
    'Ihr Tarif enthält keine weiteren Arbeitsbereiche. Fragen Sie den Betreiber dieses Dienstes.',
  'refusal.plan_of_operator': 'Nur ein Betreiber wählt den Tarif.',
  'refusal.no_own_workspace': 'Diesen Arbeitsbereich gibt es nicht, oder Sie sind dort kein Mitglied.',
  'refusal.workspace_gone': 'Den Arbeitsbereich gibt es nicht mehr. Fragen Sie den Betreiber dieses Dienstes.',
  'refusal.attachments_too_large': 'Die Anhänge haben mehr als {max} Byte. Senden Sie stattdessen einen Link.',
  'refusal.message_too_large':
    'Die Nachricht hat {bytes} Byte, erlaubt sind höchstens {max}. Senden Sie Links statt großer Dateien.',
  'refusal.change_too_large': 'Mit dieser Änderung ist die Nachricht zu groß. Senden Sie Links statt großer Dateien.',
  'refusal.key_not_bound':
    'Dieser Schlüssel gehört zu keinem Absender. Erstellen Sie einen Schlüssel für eine Domain oder ein Konto.',
  'refusal.key_of_domain': 'Dieser Schlüssel sendet nur für {domain}. Nehmen Sie einen Absender dieser Domain.',
  'refusal.sender_not_verified':
    'Die Domain {domain} ist nicht verifiziert. Veröffentlichen Sie ihre Einträge, und prüfen Sie sie dann.',
  'refusal.key_of_account':
    'Dieser Schlüssel sendet nur für {addresses}. Nehmen Sie eine dieser Adressen als Absender.',
  'refusal.no_sender_domain':
    'Der Arbeitsbereich hat die Domain {domain} nicht. Nehmen Sie einen Absender seiner Domains, oder fügen Sie sie hinzu.',
  'refusal.template_id_unknown': 'Diese Vorlage gibt es nicht.',
  'refusal.template_not_rendered': 'Die Vorlage lässt sich nicht füllen: {problem}',
  'refusal.subject_length': 'Der fertige Betreff muss 1 bis {max} Zeichen haben. Ändern Sie ihn oder seine Werte.',
  'refusal.quota':
    'Das Kontingent des Tarifs {plan} reicht nicht: {used} Empfänger sind in diesem Monat verbraucht, und diese Nachricht hat {count}. Neu beginnt es am {at}, oder mit einem größeren Tarif.',
  'refusal.quota_of_change':
    'Das Kontingent dieses Monats reicht nicht für die neuen Empfänger. Nichts wurde geändert.',
  'refusal.content_gone': 'Der Inhalt dieser Nachricht ist nicht mehr gespeichert. Senden Sie ihn als neue Nachricht.',
  'refusal.confidential_not_resent':
    'Diese Nachricht hat einen Link nur für ihren Empfänger und wird deshalb nicht erneut gesendet. Erstellen Sie eine neue Einladung oder einen neuen Link.',
  'refusal.mail_of_campaign':
    'Das ist Mail einer Kampagne oder Automation. Wiederholen Sie die Kampagne, oder nehmen Sie den Kontakt erneut auf.',
  'refusal.sender_cannot_send':
    'Die Domain oder das Konto des Absenders kann jetzt nicht senden. Verifizieren oder verbinden Sie es, und versuchen Sie es dann erneut.',
  'refusal.no_email': 'Diese Nachricht gibt es nicht, oder sie ist nicht mehr gespeichert.',
  'refusal.no_scheduled_email': 'Diese geplante Nachricht gibt es nicht.',
  'refusal.not_cancelled': 'Die Nachricht lässt sich nicht mehr abbrechen: Sie wird schon gesendet.',
  'refusal.not_changed':
    'Die Nachricht lässt sich nicht mehr ändern: Sie ist in weniger als 30 Sekunden fällig, wurde abgebrochen oder schon gesendet.',
  'refusal.complete_message':
    'Die Nachricht wurde fertig eingeliefert. Ändern lassen sich nur Zeit, Stufe, Tags, Metadaten, Tracking und Ablauf. Brechen Sie sie ab, und senden Sie sie neu.',
  'refusal.changed_meanwhile':
    'Eine andere Anfrage hat den Absender im selben Augenblick geändert. Versuchen Sie es erneut.',
  'refusal.retry_rate':
    'Diese Nachricht wurde zu oft wiederholt. Warten Sie {seconds} s. Sie wird auch von selbst wiederholt.',
  'refusal.nobody_waits_for_attempt': 'Kein Empfänger dieser Nachricht wartet auf einen Versuch.',
  'refusal.nobody_waits': 'Kein Empfänger dieser Nachricht wartet noch auf den Versand.',
  'refusal.confidential':
    'Diese Nachricht hat einen Link nur für ihren Empfänger. Deshalb wird ihr Inhalt nicht angezeigt.',
  'refusal.body_gone':
    'Der Inhalt dieser Nachricht ist nicht mehr gespeichert. Bitten Sie den Betreiber um eine längere Aufbewahrung.',
  'refusal.too_large_to_show': 'Die Nachricht hat {bytes} Byte. Angezeigt werden nur Nachrichten bis {max} Byte.',
  'refusal.not_composed':
    'Die Nachricht lässt sich nicht zusammensetzen: {problem}. Korrigieren Sie Vorlage oder Angaben, und senden Sie neu.',
  'refusal.no_captured_email': 'Diese Nachricht gibt es nicht. Das Sandbox-Postfach speichert sieben Tage lang.',
  'refusal.no_received_link':
    'Dieser Link ist ungültig oder abgelaufen, oder die Nachricht wurde gelöscht. Laden Sie die Seite neu.',
  'refusal.no_received_email': 'Diese eingehende Nachricht gibt es nicht.',
  'refusal.not_processed': 'Die Nachricht ist noch nicht verarbeitet. Versuchen Sie es gleich erneut.',
  'refusal.no_contact': 'Diesen Kontakt gibt es nicht.',
  'refusal.no_contact_with_email': 'Einen Kontakt mit dieser Adresse gibt es nicht. Legen Sie ihn zuerst an.',
  'refusal.contact_exists': 'Ein anderer Kontakt hat diese Adresse. Ändern oder löschen Sie ihn.',
  'refusal.no_audience': 'Diese Zielgruppe gibt es nicht.',
  'refusal.no_segment': 'Dieses Segment gibt es nicht.',
  'refusal.max_segments': 'Ein Arbeitsbereich hat höchstens {max} Segmente. Löschen Sie zuerst eines.',
  'refusal.not_suppressed': 'Die Adresse steht nicht auf der Sperrliste.',
  'refusal.no_erasure': 'Diese Löschung gibt es nicht.',
  'refusal.no_campaign': 'Diese Kampagne gibt es nicht.',
  'refusal.campaign_content_gone':
    'Die Kampagne endete vor längerer Zeit, als der Arbeitsbereich Nachrichten speichert. Inhalt und Empfänger sind gelöscht. Legen Sie eine neue Kampagne an.',
  'refusal.max_open_campaigns':
    'Der Arbeitsbereich hat schon so viele laufende Kampagnen, wie möglich sind. Löschen Sie einen Entwurf.',
  'refusal.max_campaigns': 'Ein Arbeitsbereich hat höchstens {max} laufende Kampagnen. Löschen Sie einen Entwurf.',
  'refusal.campaign_without_recipients': 'Die Kampagne hat noch keine Empfänger. Starten Sie sie zuerst.',
  'refusal.campaign_state': 'Der Status der Kampagne lässt das nicht mehr zu. Laden Sie die Seite neu.',
  'refusal.campaign_not_draft': 'Die Kampagne ist kein Entwurf mehr. Nur ein Entwurf lässt sich ändern oder löschen.',
  'refusal.campaign_blocked_for_now':
    'Die Kampagne kann nicht gesendet werden. {problem} Korrigieren Sie das, oder senden Sie trotzdem.',
  'refusal.campaign_blocked': 'Die Kampagne kann nicht gesendet werden. {problem} Korrigieren Sie das zuerst.',
  'refusal.no_automation': 'Diese Automation gibt es nicht.',
  'refusal.not_deleted': 'Nur ein Entwurf lässt sich löschen. Archivieren Sie die Automation stattdessen.',
  'refusal.max_automations': 'Ein Arbeitsbereich hat höchstens {max} Automationen, die nicht archiviert sind.',
  'refusal.archived': 'Eine archivierte Automation lässt sich nicht ändern.',
  'refusal.automation_state': 'Der Status der Automation lässt das nicht zu. Laden Sie die Seite neu.',
  'refusal.automation_not_active': 'Die Automation ist nicht aktiv. Aktivieren Sie sie, bevor Sie Kontakte aufnehmen.',
  'refusal.not_enrolled': 'Kein Kontakt mit dieser Adresse ist in dieser Automation.',
  'refusal.no_enrolment': 'Dieser Kontakt ist nicht in dieser Automation.',
  'refusal.no_template': 'Diese Vorlage gibt es nicht.',
  'refusal.template_invalid': 'Die Vorlage ist ungültig: {problem}',
  'refusal.template_used': '„{name}“ verwendet diese Vorlage. Ändern oder löschen Sie das zuerst.',
  'refusal.no_version': 'Diese Version gibt es nicht.',
  'refusal.no_partial': 'Diese Teilvorlage gibt es nicht.',
  'refusal.partial_invalid': 'Die Teilvorlage ist ungültig: {problem}',
  'refusal.partial_used': 'Die Vorlage „{name}“ verwendet diese Teilvorlage. Ändern Sie sie zuerst.',
  'refusal.no_domain': 'Diese Domain gibt es nicht.',
  'refusal.max_domains':
    'Der Tarif {plan} erlaubt keine weitere Absenderdomain. Entfernen Sie eine, oder bitten Sie um einen anderen Tarif.',
  'refusal.domain_exists': 'Dieser Arbeitsbereich hat {domain} schon.',
  'refusal.domain_taken':
    'Die DNS-Einträge von {domain} sind richtig, aber ein anderer Arbeitsbereich hat diese Domain verifiziert. Sie wird frei, wenn er sie löscht, oder einen Tag nachdem seine Einträge aus dem DNS entfernt sind.',
  'refusal.rotation_in_progress':
    'Ein Schlüsselwechsel läuft schon. Veröffentlichen Sie zuerst die Einträge des nächsten Schlüssels.',
  'refusal.rotation_too_early':
    'Die bisherigen Schlüssel prüfen noch Mail, die unterwegs ist. Wiederholen Sie das nach dem {at}.',
  'refusal.rotation_not_verified':
    '{domain} ist nicht verifiziert, also sind ihre Schlüssel noch nicht in Gebrauch. Verifizieren Sie die Domain zuerst.',
  'refusal.no_tracking_host': 'Dieser Host ist kein Tracking-Hostname dieses Dienstes. Prüfen Sie die Schreibweise.',
  'refusal.no_logo': 'Dieses Logo gibt es nicht mehr. Laden Sie die Seite neu.',
  'refusal.no_key': 'Diesen API-Schlüssel gibt es in diesem Arbeitsbereich nicht.',
  'refusal.key_ended': 'Der API-Schlüssel ist widerrufen oder abgelaufen. Erstellen Sie einen neuen.',
  'refusal.key_secrets':
    'Der API-Schlüssel hat {max} frühere Geheimnisse, die noch gelten. Erneuern Sie ihn ohne Übergangszeit, um sie zu beenden.',
  'refusal.key_rights': 'Diesem Admin-Schlüssel fehlt: {scopes}. Benutzen Sie einen Schlüssel, der das darf.',
  'refusal.max_admin_keys': 'Der Arbeitsbereich hat {max} Admin-Schlüssel. Widerrufen Sie zuerst einen.',
  'refusal.networks_lack_address': 'In den Netzen fehlt die Adresse dieser Anfrage, die denselben Schlüssel benutzt.',
  'refusal.own_key_lacks_scope': 'Diese Anfrage benutzt denselben Schlüssel, dem dann {scope} fehlt.',
  'refusal.key_of_person':
    'Mehr Berechtigungen oder ein späteres Ende gibt nur, wer Admin-Schlüssel erstellen darf. Wenden Sie sich an einen Inhaber des Arbeitsbereichs.',
  'refusal.no_account': 'Dieses Konto gibt es nicht.',
  'refusal.account_test_late': 'Kein sendender Prozess hat den Test rechtzeitig ausgeführt. Versuchen Sie es erneut.',
  'refusal.max_accounts': 'Ein Arbeitsbereich hat höchstens {max} verbundene Konten. Löschen Sie zuerst eines.',
  'refusal.workspace_deleted': 'Der Arbeitsbereich wurde inzwischen gelöscht.',
  'refusal.sign_in_unknown':
    'Diese Anmeldung gibt es nicht, sie ist abgelaufen oder wurde schon benutzt. Beginnen Sie neu.',
  'refusal.sign_in_elsewhere':
    'Diese Anmeldung wurde nicht in diesem Browser begonnen, ist abgelaufen oder wurde schon benutzt. Beginnen Sie neu.',
  'refusal.not_agreed': 'Sie haben nicht zugestimmt. Nichts wurde verbunden. {revocation}',
  'refusal.no_webhook': 'Diesen Webhook-Endpunkt gibt es nicht.',
  'refusal.max_webhooks': 'Ein Arbeitsbereich hat höchstens {max} Webhook-Endpunkte. Löschen Sie zuerst einen.',
  'refusal.webhook_disabled': 'Der Webhook-Endpunkt ist ausgeschaltet. Schalten Sie ihn zuerst ein.',
  'refusal.no_delivery': 'Dieser Endpunkt hat keine Zustellung dieses Ereignisses.',
  'refusal.no_route': 'Diese Eingangsroute gibt es nicht.',
  'refusal.route_exists': 'Für diese Adresse gibt es schon eine Route. Ändern Sie sie.',
  'refusal.max_routes': 'Ein Arbeitsbereich hat höchstens {max} Eingangsrouten. Löschen Sie zuerst eine.',
  'refusal.link_just_sent': 'Vor weniger als 10 Minuten wurde schon ein Link gesendet.',
  'refusal.links_of_day': 'An einem Tag wurden zu viele Links gesendet.',
  'refusal.target_confirmed':
    'Diese Adresse ist schon bestätigt. Senden Sie Mail an die Route, um die Weiterleitung zu sehen.',
  'refusal.targets_confirmed':
    'Keine Adresse dieser Route wartet auf eine Bestätigung. Senden Sie Mail an die Route, um die Weiterleitung zu sehen.',
  'refusal.topic_forbidden': 'Ihre Rolle darf Änderungen an {topic} nicht lesen.',
  'refusal.max_streams': 'Zu viele Fenster zeigen gerade Änderungen an. Schließen Sie einige.',
  'refusal.no_stream_room':
    'Der Server kann gerade niemandem mehr Änderungen anzeigen. Versuchen Sie es erneut, oder bitten Sie den Betreiber um einen weiteren Prozess der API.',
  'refusal.waiting_requests': 'Zu viele Anfragen dieses Arbeitsbereichs warten auf Ereignisse.',
  'refusal.too_many_blocked_links':
    'Zu viele Links sind gesperrt. Sperren Sie ihre Hosts, und geben Sie die Links frei.',
  'refusal.not_blocked': 'Dieser Link ist nicht gesperrt.',
  'refusal.no_report': 'Diesen Bericht gibt es nicht.',
  'refusal.user_exists': 'Ein anderer Benutzer hat die Adresse {address}. Löschen Sie zuerst einen von beiden.',
  'refusal.no_dry_run': 'Diesen Probelauf gibt es nicht. Starten Sie einen neuen.',
  'refusal.no_key_of_any': 'Diesen API-Schlüssel gibt es nicht.',
  'refusal.no_sending_domain':
    'Der Arbeitsbereich hat diese Absenderdomain nicht. Prüfen Sie den Namen, oder fügen Sie sie hinzu.',
  'refusal.domain_of_another':
    'Ein anderer Arbeitsbereich hat diese Domain verifiziert. Entfernen Sie sie zuerst dort.',
  'refusal.max_keys_of_workspace':
    'Der Arbeitsbereich hat schon {max} Admin-Schlüssel, mehr sind nicht möglich. Widerrufen Sie zuerst einen.',
  'refusal.no_node': 'Kein Knoten hat diesen Namen.',
  'refusal.node_alive': 'Ein Prozess auf {node} hat sich in den letzten {seconds} s gemeldet. Beenden Sie ihn zuerst.',
  'refusal.no_notice': 'Diesen offenen Hinweis gibt es nicht.',
  'refusal.no_action': 'Diese Aktion gibt es nicht.',
  'refusal.no_retention_rule': 'Diese Regel oder diesen Arbeitsbereich gibt es nicht.',
  'refusal.no_source': 'Diese Quelle gibt es nicht.',
  'refusal.no_review': 'Diese Prüfung von Sperrungen gibt es nicht. Starten Sie eine neue.',
  'refusal.no_suspension': 'Diese Aussetzung gibt es nicht.',
  'refusal.no_tls_rule': 'Diese Regel gibt es nicht.',
  'refusal.no_user': 'Diesen Benutzer gibt es nicht.',
  'refusal.last_operator': 'Das ist der letzte Betreiber, der sich anmelden kann. Laden Sie zuerst einen anderen ein.',
  'refusal.user_last_owner':
    'Der Benutzer ist der letzte Inhaber eines Arbeitsbereichs. Ändern Sie zuerst die Rolle eines anderen Mitglieds.',
  'refusal.workspace_unknown':
    'Diesen Arbeitsbereich gibt es nicht, oder mehrere haben diesen Namen. Benutzen Sie seine ID.',
  'refusal.no_workspace': 'Diesen Arbeitsbereich gibt es nicht.',
  'refusal.workspaces_of_name': 'Mehrere Arbeitsbereiche haben diesen Namen. Benutzen Sie eine ihrer IDs: {ids}.',
  'refusal.no_operator_invitation': 'Diese offene Einladung eines Betreibers gibt es nicht.',
  'refusal.dashboard_not_built':
    'Das Dashboard ist nicht gebaut. Führen Sie auf dem Server `npm run build:dashboard` aus.',
}
