#include "settings/client_properties.hpp"

#include "settings/config_file.hpp"
#include "settings/jaas_config.hpp"
#include "settings/sections.hpp"
#include "settings/value_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace mirrord {
namespace {

constexpr std::string_view jaas_key = "sasl.jaas.config";
constexpr std::string_view truststore_prefix = "ssl.truststore.";
constexpr std::string_view keystore_prefix = "ssl.keystore.";

// Settings of the Java client that cannot change what we connect to, or how safely: files have them, and they are let pass.
constexpr std::array<std::string_view, 11> without_effect = {
    "client.dns.lookup",    "connections.max.idle.ms",    "default.api.timeout.ms",
    "metadata.max.age.ms",  "metadata.recovery.strategy", "receive.buffer.bytes",
    "retries",              "retry.backoff.max.ms",       "retry.backoff.ms",
    "send.buffer.bytes",    "socket.connection.setup.timeout.max.ms"};

struct java_property {
  std::string_view prefix;
  std::string_view text;
};

// Settings of the Java client that cannot be passed over, and what to do instead.
constexpr std::array<java_property, 6> refused = {{
    {"ssl.protocol", "TLS 1.3 or 1.2 is always used: remove the line"},
    {"ssl.enabled.protocols", "TLS 1.3 and 1.2 are always enabled: remove the line"},
    {"sasl.kerberos.", "Kerberos is not supported; use SCRAM or PLAIN"},
    {"sasl.oauthbearer.", "OAUTHBEARER is not supported; use SCRAM or PLAIN"},
    {"sasl.login.", "not supported; PLAIN and SCRAM take user name and password from sasl.jaas.config"},
    {"enable.ssl.certificate.verification", "certificates are always verified: remove the line; ssl.endpoint.identification.algorithm says whether "
                                            "the host name is"},
}};

const field<connection_settings>* find_field(std::string_view key) {
  const auto& rows = connection_fields();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

class properties_loader {
 public:
  properties_loader(std::string file, const properties_rules& rules, const parsed_properties& parsed)
      : file_(std::move(file)), rules_(rules), parsed_(parsed) {
    loaded_.connection = rules.defaults;
  }

  client_properties_result load() {
    for (const auto& p : parsed_.problems) report(p.line, p.key, p.text);
    for (const auto& p : parsed_.properties) take(p);
    take_truststore();
    take_keystore();
    take_login();
    if (rules_.servers_required && parsed_.find("bootstrap.servers") == nullptr) {
      report(1, "bootstrap.servers", "required, but not given: add a line bootstrap.servers=HOST:PORT");
    }
    if (problems_.list.empty()) report_conflicts();
    if (problems_.list.empty()) return std::move(loaded_);
    std::stable_sort(problems_.list.begin(), problems_.list.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
    return std::move(problems_);
  }

 private:
  void report(int line, std::string_view key, std::string text) {
    problems_.list.push_back({file_, line, 1, std::string(key), std::move(text)});
  }

  void take(const property& p) {
    if (p.key == jaas_key || p.key.starts_with(truststore_prefix) || p.key.starts_with(keystore_prefix)) {
      loaded_.connection_properties.push_back(p);  // read together, below
    } else if (const auto* row = find_field(p.key)) {
      loaded_.connection_properties.push_back(p);
      take_value(*row, p);
    } else if (const auto stop = std::find_if(refused.begin(), refused.end(), [&](const auto& r) { return p.key.starts_with(r.prefix); });
               stop != refused.end()) {
      report(p.line, p.key, std::string(stop->text));
    } else if (std::find(without_effect.begin(), without_effect.end(), p.key) != without_effect.end()) {
      return;
    } else if (rules_.others_allowed) {
      loaded_.other_properties.push_back(p);
    } else {
      report(p.line, p.key, "unknown key" + suggest_key(p.key, known_keys()));
    }
  }

  static std::vector<std::string_view> known_keys() {
    std::vector<std::string_view> known;
    for (const auto& row : connection_fields()) known.push_back(row.key);
    known.insert(known.end(), {jaas_key, "ssl.truststore.location", "ssl.truststore.type", "ssl.keystore.location", "ssl.keystore.type"});
    return known;
  }

  void take_value(const field<connection_settings>& row, const property& p) {
    std::string written = p.value;
    // Java's way to say that the host name is not checked.
    if (p.key == "ssl.endpoint.identification.algorithm" && written.empty()) written = name(endpoint_identification::none);
    if (row.kind != value_kind::text) written = trimmed(written);
    std::vector<std::string> texts;
    auto value = read_field_text(row, written, texts);
    for (auto& text : texts) report(p.line, p.key, std::move(text));
    if (value) row.set(loaded_.connection, std::move(*value));
  }

  // A reference resolved; what is wrong with it is reported.
  std::optional<std::string> text_of(const property& p, std::string_view written) {
    auto expanded = expand_references(written);
    if (expanded) return std::move(*expanded);
    report(p.line, p.key, expanded.error().context);
    return std::nullopt;
  }

  // The store's path where it is of type PEM; every other kind is refused, with `conversion` of its path.
  std::optional<std::string> pem_store(std::string_view prefix, std::string (*conversion)(std::string_view path, bool jks)) {
    const auto at = [&](std::string_view last) { return parsed_.find(std::string(prefix) + std::string(last)); };
    for (const auto& p : parsed_.properties) {
      if (!p.key.starts_with(prefix) || &p == at("location") || &p == at("type") || &p == at("password")) continue;
      report(p.line, p.key, "not supported: write the PEM text to a file and name that");
    }
    const property* location = at("location");
    if (location == nullptr) return std::nullopt;
    const auto type = at("type") ? std::string(trimmed(at("type")->value)) : std::string("JKS");  // Kafka's default
    auto path = text_of(*location, location->value);
    if (!path) return std::nullopt;
    if (type != "PEM") {
      report(location->line, location->key, fmt::format("a {} store cannot be read here; {}", type, conversion(location->value, type == "JKS")));
      return std::nullopt;
    }
    if (const property* password = at("password")) {
      report(password->line, password->key, "has no meaning for a PEM file: remove the line (a key's password is ssl.key.password)");
    }
    return path;
  }

  void take_truststore() {
    const auto path = pem_store(truststore_prefix, [](std::string_view store, bool) {
      return fmt::format("convert it with `keytool -list -rfc -keystore {} > ca.pem` and write ssl.ca.location=/path/ca.pem in its place "
                         "(if it is a PEM file, add ssl.truststore.type=PEM)", store);
    });
    if (path) loaded_.connection.ssl_ca_location = *path;
  }

  void take_keystore() {
    const auto path = pem_store(keystore_prefix, [](std::string_view store, bool jks) {
      const std::string to_pkcs12 = fmt::format("keytool -importkeystore -srckeystore {} -destkeystore client.p12 -deststoretype PKCS12 && ", store);
      return fmt::format("convert it with `{}openssl pkcs12 -in {} -nodes -out client.pem` and write ssl.certificate.location=/path/client.pem and "
                         "ssl.key.location=/path/client.pem in its place (if it is a PEM file, add ssl.keystore.type=PEM)",
                         jks ? to_pkcs12 : "", jks ? "client.p12" : store);
    });
    if (!path) return;
    loaded_.connection.ssl_certificate_location = *path;
    loaded_.connection.ssl_key_location = *path;
  }

  // A reference may stand for the whole value or within it. In the second case it is resolved after the quotes are read,
  // so that a password may contain any character.
  void take_login() {
    const property* p = parsed_.find(jaas_key);
    if (p == nullptr) return;
    const auto written = trimmed(p->value);
    const bool whole = written.starts_with("${");
    std::optional<std::string> config(written);
    if (whole) config = text_of(*p, written);
    if (!config) return;
    auto login = parse_jaas_config(*config);
    if (!login) return report(p->line, p->key, login.error().context);
    auto username = whole ? std::optional(login->username) : text_of(*p, login->username);
    auto password = whole ? std::optional(login->password) : text_of(*p, login->password);
    if (!username || !password) return;
    const bool scram_chosen = loaded_.connection.sasl_mechanism != sasl_mechanism::plain;
    if (login->scram != scram_chosen) {
      return report(p->line, p->key, login->scram ? "ScramLoginModule needs sasl.mechanism=SCRAM-SHA-256 or SCRAM-SHA-512"
                                                  : "PlainLoginModule needs sasl.mechanism=PLAIN");
    }
    for (const std::string_view key : {"sasl.username", "sasl.password"}) {
      if (parsed_.find(key)) return report(p->line, p->key, fmt::format("{} says the same: remove one of them", key));
    }
    loaded_.connection.sasl_username = std::move(*username);
    loaded_.connection.sasl_password = std::move(*password);
  }

  // Told at the line of the key that the file has, which may be Java's.
  void report_conflicts() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> java_names = {{
        {"ssl.ca.location", "ssl.truststore.location"},
        {"ssl.certificate.location", "ssl.keystore.location"},
        {"ssl.key.location", "ssl.keystore.location"},
        {"sasl.username", jaas_key},
        {"sasl.password", jaas_key},
    }};
    for (auto& conflict : conflicts_in(loaded_.connection)) {
      const property* at = parsed_.find(conflict.key);
      const auto java = std::find_if(java_names.begin(), java_names.end(), [&](const auto& n) { return n.first == conflict.key; });
      if (at == nullptr && java != java_names.end()) at = parsed_.find(java->second);
      const std::string key(at ? std::string_view(at->key) : conflict.key);
      const bool told = std::any_of(problems_.list.begin(), problems_.list.end(),
                                    [&](const config_problem& p) { return p.key == key && p.text == conflict.text; });
      if (!told) report(at ? at->line : 1, key, std::move(conflict.text));
    }
  }

  std::string file_;
  const properties_rules& rules_;
  const parsed_properties& parsed_;
  client_properties loaded_;
  config_problems problems_;
};

}  // namespace

client_properties_result load_client_properties_text(std::string_view text, std::string file, const properties_rules& rules) {
  const auto parsed = parse_properties(text);
  return properties_loader(std::move(file), rules, parsed).load();
}

client_properties_result load_client_properties(const std::string& path, const properties_rules& rules) {
  const auto text = read_config_file(path);
  if (!text) return config_problems{{{path, 1, 1, {}, text.error().context}}};
  return load_client_properties_text(*text, path, rules);
}

}  // namespace mirrord
